"""In CI a skipped test is a failed one: what is not run is not known to work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SKIPPED = "import pytest\n@pytest.mark.{mark}\ndef test_it(): pytest.skip('no such thing here')\n"


@pytest.mark.parametrize(
    ("source", "ci", "status", "said"),
    [
        (SKIPPED.format(mark="filterwarnings"), "1", 1, "test_it: Skipped: no such thing here"),
        (SKIPPED.format(mark="filterwarnings"), "", 0, ""),
        (SKIPPED.format(mark="live"), "1", 0, ""),
        ("import pytest\n@pytest.mark.xfail\ndef test_it(): assert 0\n", "1", 0, ""),
        ("import pytest\npytest.skip('no module', allow_module_level=True)\n", "1", 5, "no module"),
        ("def test_it(): pass\n", "1", 0, ""),
        ("", "1", 5, ""),
    ],
    ids=["skipped", "not in CI", "live", "expected failure", "module", "passed", "no tests"],
)
def test_exit_status(tmp_path: Path, source: str, ci: str, status: int, said: str) -> None:
    (tmp_path / "test_inner.py").write_text(source)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = live\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-c",
            tmp_path / "pytest.ini",
            "-p",
            "tests.skips",
            "-p",
            "no:cacheprovider",
            "-m",
            "",
            tmp_path,
        ],
        cwd=ROOT,
        env=os.environ | {"CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout
    assert said in done.stdout
    assert ("counts as failed" in done.stdout) is bool(said)
