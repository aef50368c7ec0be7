"""The program of an MCP server: its command, its environment and the user that it runs as.

Run as a script by root, this file becomes that user for good and then executes the program. The script runs without
site-packages, so the file imports only the standard library.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # as a program, it has no package around it
    from maas.tools.mcp_client.servers import McpServer


UNPRIVILEGED_ID = 61_100  # user and group of a program that root starts: systemd and Debian assign this id to nobody
_PR_SET_NO_NEW_PRIVS = 38


@dataclass(frozen=True, slots=True)
class Program:
    """What to execute: the command, its arguments, its whole environment and its working directory."""

    command: str
    args: list[str]
    env: dict[str, str]
    cwd: str | None


def program_of(server: McpServer) -> Program:
    """How to start a server. Raises OSError for a program that does not exist, LookupError for an unknown user."""
    command = server.command or ""
    if server.cwd is None and shutil.which(command, path=server.env.get("PATH")) is None:
        raise FileNotFoundError(f"there is no program {command}")
    uid, gid, name, home = _account(server.user)
    if uid == os.geteuid():
        return Program(command, list(server.args), server.env, server.cwd)
    if os.geteuid() != 0:
        raise PermissionError(f"only root can start it as user {name}")
    script = ["-I", "-S", __file__, str(uid), str(gid), name, command, *server.args]
    account_env = {"HOME": home, "USER": name or str(uid), "LOGNAME": name or str(uid)}
    return Program(sys.executable, script, account_env | server.env, server.cwd)


def _account(user: str | None) -> tuple[int, int, str, str]:
    """User id, group id, name and home of the program."""
    if user is None:
        own = os.geteuid()
        if own:
            return own, os.getegid(), "", ""
        return UNPRIVILEGED_ID, UNPRIVILEGED_ID, "", str(_unprivileged_home())
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise LookupError(f"this machine has no user {user!r}") from None
    return entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir


def _unprivileged_home() -> Path:
    """A folder that only UNPRIVILEGED_ID and root may enter. It is not removed, so that programs find their caches."""
    folder = Path(tempfile.gettempdir()) / f"maas-mcp-{UNPRIVILEGED_ID}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        os.chown(folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != UNPRIVILEGED_ID or status.st_mode & 0o077:
        folder = Path(tempfile.mkdtemp(prefix="maas-mcp-"))
        os.chown(folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    return folder


def main() -> None:
    """Change to the user in `sys.argv`, then execute the program there: uid, gid, name, command, arguments."""
    uid, gid, name, command, *arguments = sys.argv[1:]
    os.get_exec_path()  # imports what execvp needs; the other user may be unable to read it
    try:
        if name:
            os.initgroups(name, int(gid))
        else:
            os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if not os.access(os.getcwd(), os.X_OK):
            os.chdir(os.environ["HOME"])
        os.execvp(command, [command, *arguments])
    except OSError as error:
        sys.exit(
            f"cannot start {command} as user {name or uid} ({error.strerror}): install it where that user can read it, "
            "or name another `user` of this server"
        )


if __name__ == "__main__":
    main()
