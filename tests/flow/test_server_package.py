"""The wheel of the server: built, installed into an environment of its own, and started from a folder elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from tests.environments import Environment, build_wheel, new_environment, run
from tests.polling import poll
from tests.programs import SETTINGS
from tests.stack import ROOT, free_port

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
STARTED = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"} | SETTINGS


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(Path(), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def added(wheel: Path, installed: Environment) -> set[str]:
    """What the wheel has added at the top of site-packages."""
    return installed.install(wheel)


@pytest.fixture(scope="module")
def installed(reachable_tmp: Path) -> Environment:
    """An environment with all that the server needs, which the user of the embedded Postgres can enter."""
    environment = new_environment(reachable_tmp / "installed")
    environment.link(PROJECT["dependencies"])
    return environment


@pytest.fixture
def elsewhere(reachable_tmp: Path) -> Iterator[Path]:
    """A folder whose programs and packages have the names of ours."""
    folder = reachable_tmp / f"application-{uuid4().hex}"
    for name in ("shared", "workers"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("OURS = False\n")
    for name in ("main.py", "server.py"):
        (folder / name).write_text("raise SystemExit('this is another program')\n")
    yield folder


def maas(environment: Environment, *words: str, folder: Path, **settings: str) -> str:
    return run(environment.folder / "bin" / "maas", *words, cwd=folder, **STARTED, **settings)


def test_it_puts_one_name_beside_others(added: set[str], wheel: Path) -> None:
    assert {name for name in added if not name.endswith(".dist-info")} == {"maas"}
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
        assert [content.read(name) for name in names if name.endswith("top_level.txt")] == [b"maas\n"]
    for folder in ("sql", "shared", "workers"):
        files = [path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()]
        missing = {f"maas/_app/{path}" for path in files if "__pycache__" not in path.parts} - names
        assert files and not missing
    assert "maas/http/ui/index.html" in names and not any("__pycache__" in name for name in names)


def test_it_starts_from_any_folder(added: set[str], installed: Environment, elsewhere: Path) -> None:
    """Beside packages of the same names; its database is the embedded one, whose supervisor is a part of it, too."""
    assert added
    port = str(free_port())
    assert maas(installed, "--version", folder=elsewhere) == f"maas {PROJECT['version']}\n"
    with (elsewhere / "up.log").open("wb") as output:
        up = subprocess.Popen(
            [installed.folder / "bin" / "maas", "up"],
            cwd=elsewhere,
            env=STARTED | {"MAAS_PORT": port},
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
        )
    try:
        poll(lambda: up.poll() is not None or "MaaS answers at" in (elsewhere / "up.log").read_text(), 60, "all is up")
        assert up.poll() is None, (elsewhere / "up.log").read_text()
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
            user = str(uuid4())
            sent = client.post("/v1/runs", json={"user_id": user, "query": "My cat is called Pixel."})
            assert sent.status_code == 202, sent.text
            answered = client.get(f"/v1/runs/{sent.json()['request_id']}", params={"wait": 20}).json()
            assert answered["status"] == "COMPLETED"
            text = {"user_id": user, "name": "canteen.md", "text": "# Canteen\n\nThe millstone is turned on Mondays."}
            assert client.post("/v1/knowledge/texts", json=text).json()["status"] == "processed"
            assert client.get("/ui/").status_code == 200 and client.get("/docs").status_code == 200
        checked = maas(installed, "doctor", folder=elsewhere, MAAS_PORT=port)
        assert "migrations: up to date" in checked and "Traceback" not in checked
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(30)
    assert up.returncode == 0, (elsewhere / "up.log").read_text()


def test_an_application_that_imports_it_keeps_its_own_packages(
    added: set[str], installed: Environment, elsewhere: Path
) -> None:
    assert added
    code = "import sys, maas, shared; from maas import MaaS; print(shared.OURS, [p for p in sys.path if '_app' in p])"
    assert run(installed.python, "-c", code, cwd=elsewhere, **STARTED) == "False []\n"


@pytest.mark.parametrize(("name", "file"), [("shared", "shared/__init__.py"), ("main", "main.py")])
def test_a_part_that_is_hidden_is_named_in_one_line(
    installed: Environment, tmp_path: Path, name: str, file: str
) -> None:
    """In a checkout, whose parts are found by the path as other packages are."""
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("raise SystemExit('this is another program')\n")
    code = "from maas.launcher import cli; cli()"
    environment = STARTED | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    command = [str(installed.python), "-P", "-c", code, "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"maas: {name} of MaaS is in {ROOT}, and Python finds {tmp_path / file}: install")
