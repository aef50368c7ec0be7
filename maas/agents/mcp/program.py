"""How the program of a server is started: with an environment of its own and, by root, as another user."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from mcp.client.stdio import StdioServerParameters

from maas.agents.mcp.servers import Server

NAMELESS = 61_100  # user and group of a program when root starts it: systemd and Debian give this id to nobody
_LAUNCH = Path(__file__).with_name("launch.py")


def program_of(server: Server) -> StdioServerParameters:
    """What starts it. Raises OSError for a program that is not there, and for a user that cannot be had."""
    command = server.command or ""
    if server.cwd is None and shutil.which(command, path=server.env.get("PATH")) is None:
        raise FileNotFoundError(f"there is no program {command}")
    uid, gid, name, home = _account(server.user)
    if uid == os.geteuid():
        return StdioServerParameters(command=command, args=list(server.args), env=server.env, cwd=server.cwd)
    if os.geteuid() != 0:
        raise PermissionError(f"only root can start it as user {name}")
    launch = ["-I", "-S", str(_LAUNCH), str(uid), str(gid), name, command, *server.args]
    its_own = {"HOME": home, "USER": name or str(uid), "LOGNAME": name or str(uid)}
    return StdioServerParameters(command=sys.executable, args=launch, env=its_own | server.env, cwd=server.cwd)


def _account(user: str | None) -> tuple[int, int, str, str]:
    """User, group, name and home."""
    if user is None:
        own = os.geteuid()
        return (own, os.getegid(), "", "") if own else (NAMELESS, NAMELESS, "", str(_home()))
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise LookupError(f"this machine has no user {user!r}") from None
    return entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir


def _home() -> Path:
    """A folder for caches that only NAMELESS and root may enter; it stays, so that a program finds them again."""
    folder = Path(tempfile.gettempdir()) / f"maas-mcp-{NAMELESS}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        os.chown(folder, NAMELESS, NAMELESS)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != NAMELESS or found.st_mode & 0o077:
        folder = Path(tempfile.mkdtemp(prefix="maas-mcp-"))
        os.chown(folder, NAMELESS, NAMELESS)
    return folder
