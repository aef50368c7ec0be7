"""Files that an ingestion reads. A link is never followed: whoever may write to a folder chooses where it leads."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from maas.knowledge.readers import MEDIA_TYPES
from shared.errors import MaasError

LINK = "it is a symbolic link, which is not followed: name the file itself"
SPECIAL = "it is not a regular file"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file below `folder`, which the operator named; `name` is that of its document."""

    folder: Path
    inner: PurePosixPath
    name: str
    size: int  # in bytes

    def read(self, max_bytes: int) -> bytes:
        """Return its content, of which one byte more than `max_bytes` at most. Raises OSError, also for a link."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in self.inner.parent.parts:  # each may have been replaced by a link since it was listed
                inside = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inside
            # A pipe that nobody writes to would block.
            opened = os.open(self.inner.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(SPECIAL)
            return file.read(max_bytes + 1)


@dataclass(frozen=True, slots=True)
class Listing:
    """What there is to read, and by name why a link or a special file is left out."""

    files: list[SourceFile]
    left_out: dict[str, str]


def media_type_of(name: str) -> str | None:
    """The type of a file by the end of its name; None for one that nothing here reads."""
    return MEDIA_TYPES.get(PurePosixPath(name).suffix.lower())


def list_files(paths: Sequence[Path]) -> Listing:
    """List the files that can be read among `paths` and, sorted, in folders among them.

    Hidden files are left out. A folder that is itself named may be a link. Raises MaasError('bad_parameter') for a path
    that is not there.
    """
    listing = Listing([], {})
    for path in paths:
        if path.is_dir():
            found = sorted(_walk(path))
            folder = path
        elif path.is_symlink() or path.exists():
            found = [(PurePosixPath(path.name), path.lstat())]
            folder = path.parent
        else:
            raise MaasError("bad_parameter", f"{path}: there is no such file or folder")
        for inner, status in found:
            name = (path.name / inner).as_posix() if path.is_dir() else path.name
            if stat.S_ISREG(status.st_mode):
                listing.files.append(SourceFile(folder, inner, name, status.st_size))
            else:
                listing.left_out[name] = LINK if stat.S_ISLNK(status.st_mode) else SPECIAL
    return listing


def _walk(folder: Path) -> Iterator[tuple[PurePosixPath, os.stat_result]]:
    """The files of a type that is read, and the links to anything, below a folder."""
    for parent, folders, names, descriptor in os.fwalk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        for name in [*names, *folders]:
            try:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:  # it was deleted meanwhile
                continue
            is_named = not name.startswith(".") and not stat.S_ISDIR(status.st_mode)
            if is_named and (media_type_of(name) is not None or name in folders):
                yield PurePosixPath(Path(parent).relative_to(folder), name), status
