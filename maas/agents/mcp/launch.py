"""Run as a program by root: become another user for good, then the program that is named. Standard library only."""

from __future__ import annotations

import ctypes
import os
import sys

_PR_SET_NO_NEW_PRIVS = 38


def main() -> None:
    uid, gid, name, command, *arguments = sys.argv[1:]
    os.get_exec_path()  # loads what execvp needs, which the other user may be unable to read
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
