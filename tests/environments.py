"""Python environments of their own, for tests of what is installed: made of the packages that run the tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PARTS = (
    "maas",
    "workers",
    "shared",
    "sql",
    "clients/python",
    "deploy",
    "main.py",
    "server.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
LEFT_OUT = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment without pip."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python3*/site-packages")
        return found

    def install(self, wheel: Path) -> set[str]:
        """Install a wheel without what it needs; returns the names at the top of site-packages that it has added."""
        before = {path.name for path in self.packages.iterdir()}
        command = [
            "-m",
            "pip",
            "-qq",
            "--disable-pip-version-check",
            "--python",
            str(self.python),
            "install",
            "--no-deps",
        ]
        run(sys.executable, *command, str(wheel))
        return {path.name for path in self.packages.iterdir()} - before

    def link(self, names: Iterable[str]) -> list[Distribution]:
        """Give the environment these distributions and all that they need, those of the tests; returns them."""
        found = closure(names)
        for one in found:
            for top in {Path(file).parts[0] for file in one.files or () if not str(file).startswith("..")}:
                target = self.packages / top
                if top != "__pycache__" and not target.exists():
                    target.symlink_to(Path(str(one.locate_file(top))))
        return found


def new_environment(folder: Path) -> Environment:
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    return Environment(folder)


def build_wheel(source: Path, folder: Path) -> Path:
    """Build a wheel of a folder of the checkout in a copy, which no earlier build has left anything in.

    It is built with the setuptools that the tests have, so that nothing is downloaded.
    """
    copy = folder / "tree"
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, copy)
    command = ["-m", "pip", "-qq", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation"]
    run(sys.executable, *command, "--wheel-dir", str(folder), str(copy / source))
    (wheel,) = folder.glob("*.whl")
    return wheel


def closure(names: Iterable[str]) -> list[Distribution]:
    """The installed distributions of these requirements and, again and again, of theirs."""
    found: dict[str, Distribution] = {}
    waiting = [(requirement, extra) for requirement in map(Requirement, names) for extra in _extras(requirement)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found[name] = distribution(name)
        for needed in map(Requirement, found[name].requires or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(needed, one) for one in _extras(needed)]
    return list(found.values())


def _extras(requirement: Requirement) -> set[str]:
    """The extras that a requirement asks for, and the empty one, which stands for the package itself."""
    return {"", *requirement.extras}


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """The output of a program that must succeed."""
    done = subprocess.run(command, cwd=cwd, env=environment or None, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
