"""Which process has which secrets, and who else may read them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from maas.cli.up import without_keys
from maas.settings import load_settings
from maas.tools.mcp_client.program import UNPRIVILEGED_ID, program_of
from maas.tools.mcp_client.servers import McpServer
from server import drop_keys

ROOT = Path(__file__).resolve().parents[2]
KEYS = {
    "OPENAI_API_KEY": "key-of-openai",
    "GEMINI_API_KEY": "key-of-gemini",
    "ANTHROPIC_API_KEY": "key-of-anthropic",
    "MAAS_MCP_SERVERS": '{"mcpServers": {}}',
}
SPY = "id -u; id -G; pwd; echo $HOME; touch $HOME/mine && echo written; cat /proc/$PPID/environ"


@pytest.mark.parametrize(
    ("embedding_model", "passthrough", "kept"),
    [
        ("none", "off", set()),
        ("none", "*", {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}),
        ("local:e5-small", "off", set()),
        ("gemini:gemini-embedding-001@768", "off", {"GEMINI_API_KEY"}),
        ("gemini:gemini-embedding-001@768", "*", set(KEYS) - {"MAAS_MCP_SERVERS"}),
        (" openai : text-embedding-3-small", "off", {"OPENAI_API_KEY"}),
    ],
)
def test_the_server_has_no_key_but_those_of_its_embedder_and_of_pass_through(
    monkeypatch: pytest.MonkeyPatch, embedding_model: str, passthrough: str, kept: set[str]
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(embedding_model=embedding_model, passthrough=passthrough)
    assert KEYS.keys() & without_keys(os.environ, settings).keys() == kept
    assert without_keys({"PATH": "/bin", **KEYS}, settings)["PATH"] == "/bin"
    left = drop_keys(settings)
    assert KEYS.keys() & os.environ.keys() == kept
    named = {name: getattr(left.providers, name.lower()) for name in KEYS if name != "MAAS_MCP_SERVERS"}
    assert {name for name, key in named.items() if key is not None} == kept
    assert left.assistants.mcp_servers is None
    assert settings.providers.anthropic_api_key is not None


def test_a_closed_process_cannot_be_looked_into() -> None:
    look = "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    close = "from shared.process import close_to_others as close; close()"
    asked = subprocess.run([sys.executable, "-c", f"{close}; {look}"], cwd=ROOT, capture_output=True, text=True)
    assert asked.stdout == "0\n"


def test_the_program_of_a_server_cannot_read_what_is_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Started by root it is another user, with a home of its own; an ordinary user has no other to give."""
    monkeypatch.setenv("PLANTED", "secret-of-ours")
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    monkeypatch.chdir(private)
    program = program_of(McpServer(name="spy", command="sh", args=("-c", SPY), env={"PATH": os.environ["PATH"]}))
    if os.geteuid() != 0:
        assert (program.command, program.args) == ("sh", ["-c", SPY])
        with pytest.raises(PermissionError, match="only root can start it as user root"):
            program_of(McpServer(name="spy", command="sh", user="root"))
        return
    done = subprocess.run([program.command, *program.args], env=program.env, capture_output=True, text=True)
    assert program.env is not None
    home = program.env["HOME"]
    assert done.stdout.splitlines() == [str(UNPRIVILEGED_ID), str(UNPRIVILEGED_ID), home, home, "written"], done.stderr
    assert "secret-of-ours" not in done.stdout and done.returncode != 0
    assert os.stat(home).st_mode & 0o777 == 0o700
    assert program_of(McpServer(name="spy", command="sh", user="root")).command == "sh"


def test_a_user_that_cannot_be_is_said() -> None:
    with pytest.raises(LookupError, match="this machine has no user 'nobody-of-this-name'"):
        program_of(McpServer(name="spy", command="sh", user="nobody-of-this-name"))
    with pytest.raises(ValidationError, match="user is for a command"):
        McpServer(name="spy", url="http://127.0.0.1/mcp", user="root")


def test_a_program_that_its_user_cannot_reach_is_said(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        return  # only root becomes somebody else
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    hidden = private / "tool"
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    program = program_of(McpServer(name="spy", command=str(hidden)))
    done = subprocess.run([program.command, *program.args], env=program.env, capture_output=True, text=True)
    assert done.stderr.startswith(f"cannot start {hidden} as user {UNPRIVILEGED_ID} (Permission denied): ")
