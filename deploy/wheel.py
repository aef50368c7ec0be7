"""How setuptools builds the wheel: all of the server is below the package maas, and a checkout stays as it is.

In the wheel, `workers`, `shared`, `sql`, main.py and server.py are in `maas/_app`, which `maas.launcher` puts on the
path of the server's own processes: names as common as `shared` and `main` are those of other packages, too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

PARTS = ("workers", "shared", "main.py", "server.py")
SQL = "sql"
HOOK = "deploy/wheel.py"


class BuildPy(build_py):
    """Builds the packages and moves those that are not maas into it; an editable installation uses the checkout."""

    def run(self) -> None:
        app = Path(self.build_lib, "maas", "_app")
        shutil.rmtree(app, ignore_errors=True)  # of an earlier build
        super().run()
        if self.editable_mode:
            return
        app.mkdir()
        for name in PARTS:
            shutil.move(Path(self.build_lib, name), app / name)
        shutil.copytree(SQL, app / SQL)

    def get_source_files(self) -> list[str]:
        """The files of a source distribution, from which the wheel can be built, too."""
        return [*super().get_source_files(), *(str(path) for path in Path(SQL).rglob("*") if path.is_file()), HOOK]


class BuildWheel(bdist_wheel):
    """Names the one package that the wheel puts beside others."""

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        Path(distinfo_path, "top_level.txt").write_text("maas\n")
