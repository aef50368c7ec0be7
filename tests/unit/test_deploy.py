"""What the product is deployed with, as those read it who start it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import compose_spec.compose_spec as compose
import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITS = ("maas-server", "maas-orchestrator", "maas-telegram")
ANALYZE = shutil.which("systemd-analyze")
EXPOSURE = 20  # of 100, as systemd-analyze counts; a service without any hardening has 96

needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def services() -> dict[str, Any]:
    options = compose.PyOptions()
    options.apply_merge = True
    read = options.from_yaml((ROOT / "compose.yaml").read_text())
    read.validate()
    return dict(read.to_dict()["services"])


def test_the_dockerfile_passes_hadolint() -> None:
    program = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([program, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_compose_starts_who_needs_the_schema_after_it_is_there() -> None:
    found = services()
    assert set(found) == {"postgres", "migrate", "server", "orchestrator", "telegram"}
    for name in ("server", "orchestrator", "telegram"):
        assert found[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert found["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert found["migrate"].get("restart") in (None, "no")


def test_compose_publishes_only_the_port_of_the_server_on_this_machine() -> None:
    ports = {name: one.get("ports") for name, one in services().items() if one.get("ports")}
    assert set(ports) == {"server"}
    assert "127.0.0.1" in str(ports["server"])


def test_compose_holds_no_secret() -> None:
    text = (ROOT / "compose.yaml").read_text()
    assert len(re.findall("password", text, re.IGNORECASE)) == 4  # the remark at the top, one name, two values
    assert len(re.findall(re.escape("${POSTGRES_PASSWORD:?"), text)) == 2


def test_images_are_named_by_digest() -> None:
    stages = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    pulled = [one["image"] for one in services().values() if not one.get("build")]
    assert len(stages) == 2 and len(pulled) == 1
    for image in stages + pulled:
        assert re.fullmatch(r"[a-z/]+(:[\w.-]+)?@sha256:[0-9a-f]{64}", image)


def test_the_image_gets_what_the_programs_need() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert all((ROOT / name).exists() for name in let_in)
    assert {"maas", "shared", "sql", "workers", "main.py", "server.py", "requirements.lock"} <= let_in
    assert not {"tests", ".env", "models.env", ".git"} & let_in


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_units_are_understood_and_hardened(name: str, tmp_path: Path) -> None:
    """With a program that is on this machine in the place of the installed one."""
    text = (ROOT / "deploy" / f"{name}.service").read_text()
    assert "/opt/maas/.venv/bin/python" in text
    unit = tmp_path / f"{name}.service"
    unit.write_text(text.replace("/opt/maas/.venv/bin/python", sys.executable))
    verified = subprocess.run([str(ANALYZE), "verify", unit], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    security = [str(ANALYZE), "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE}", str(unit)]
    assert subprocess.run(security, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", UNITS)
def test_units_start_what_is_there_and_wait_for_its_end(name: str) -> None:
    lines = (ROOT / "deploy" / f"{name}.service").read_text().splitlines()
    program = next(line for line in lines if line.startswith("ExecStart=")).split()[1]
    assert (ROOT / program).is_file()
    assert {"Restart=always", "KillMode=mixed", "TimeoutStopSec=20", "EnvironmentFile=/etc/maas/env"} <= set(lines)
    assert ("EnvironmentFile=-/etc/maas/models.env" in lines) == (program == "main.py")
    assert ("EnvironmentFile=/etc/maas/telegram.env" in lines) == (program == ".venv/bin/maas")


def test_keys_of_providers_are_for_orchestrators() -> None:
    files = {name: one.get("env_file") for name, one in services().items() if one.get("build")}
    assert files.pop("orchestrator") == [".env", {"path": "models.env", "required": False}]
    assert files.pop("telegram") == [".env", {"path": "telegram.env", "required": False}]
    assert set(files.values()) == {".env"}
