"""Settings: defaults, names, and one clear line for a wrong one."""

from __future__ import annotations

import base64
import json
import logging
import os
from pathlib import Path
from urllib.parse import quote

import pytest
import structlog

from maas.assistants.ads.settings import AdsSettings
from maas.assistants.corporate.settings import CorporateSettings
from maas.settings import SUBJECTS, load_settings
from maas.settings.models import ROLES
from maas.settings.variables import unknown_settings, variables
from server import require_loopback
from shared.errors import MaasError
from shared.log import configure, hide, mask, redact


def test_defaults() -> None:
    """The documented numbers."""
    settings = load_settings()
    answers, models = settings.answers, settings.models
    assert (answers.temperature, answers.max_tokens, models.attempt_timeout) == (0.7, 2000, 30.0)
    assert (models.analyzer_timeout, models.assembler_timeout, models.archivist_timeout) == (3.0, 3.0, 20.0)
    assert (answers.history_rows, answers.payload_tokens) == (10, 8000)
    assert {models.role_model(role) for role in ROLES} == {"extractive:builtin"}


def test_a_name_is_of_one_subject_and_is_enough_to_set_and_read_it() -> None:
    names = [name for kind in SUBJECTS.values() for name in kind.model_fields]
    assert len(names) == len(set(names)) and set(names) <= variables().keys()
    settings = load_settings(port=8001, responder_timeout=7.0, openai_api_key="sk-0123456789")
    assert (settings.http.port, settings.named("port")) == (8001, 8001)
    other = settings.replace(port=8002, attempt_timeout=5.0)
    assert (other.http.port, other.models.attempt_timeout, other.models.responder_timeout) == (8002, 5.0, 7.0)
    assert other.models.has_own_attempt_timeout("FinalResponder") and other.database is settings.database
    assert not settings.models.has_own_attempt_timeout("FinalResponder")
    left = settings.without(["openai_api_key", "lightrag_api_key"])
    assert left.providers.openai_api_key is None and settings.providers.openai_api_key is not None


@pytest.mark.parametrize(
    ("value", "model", "is_default"),
    [
        (None, "local:e5-small", True),
        ("", "none", False),
        (" ", "none", False),
        ("none", "none", False),
        ("local:e5-small", "local:e5-small", False),
        (" openai:words ", "openai:words", False),
    ],
)
def test_the_embedding_model_is_the_local_one_unless_turned_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None, model: str, is_default: bool
) -> None:
    monkeypatch.delenv("MAAS_EMBEDDING_MODEL")
    file = tmp_path / ".env"
    for kind in SUBJECTS.values():
        monkeypatch.setitem(kind.model_config, "env_file", str(file))
    if value is not None:
        file.write_text(f"MAAS_EMBEDDING_MODEL='{value}'\n")
        settings = load_settings().embeddings
        assert (settings.embedding_model, settings.has_default_embedding_model) == (model, is_default)
        file.unlink()
        monkeypatch.setenv("MAAS_EMBEDDING_MODEL", value)
    settings = load_settings().embeddings
    assert (settings.embedding_model, settings.has_default_embedding_model) == (model, is_default)


def test_one_variable_switches_all_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAAS_MODEL", "openai:gpt-4o")
    monkeypatch.setenv("MAAS_ARCHIVIST_MODEL", "gemini:gemini-1.5-pro")
    settings = load_settings()
    assert settings.models.role_model("FinalResponder") == "openai:gpt-4o"
    assert settings.models.role_model("Archivist") == "gemini:gemini-1.5-pro"


def test_what_is_no_setting_is_named_with_the_nearest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("MAAS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    assert unknown_settings() == []
    for name in ("MAAS_PORT", "maas_timezone", "MAAS_URL", "MAAS_API_KEY", "MAAS_MCP_USER", "DATABASE_URL", "OTHER"):
        monkeypatch.setenv(name, "1")
    assert unknown_settings() == []
    for name in ("MAAS_RESPONDR_MODEL", "MAAS_DATABASE_URL", "MAAS_QWXYZ"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MAAS_EMPTY", "")
    (tmp_path / ".env").write_text("MAAS_RETENTION_DAY=30\nMAAS_HOST=127.0.0.1\nMAAS_NOTHING=\n")
    assert unknown_settings() == [
        "MAAS_DATABASE_URL is not a setting; did you mean DATABASE_URL?",
        "MAAS_QWXYZ is not a setting",
        "MAAS_RESPONDR_MODEL is not a setting; did you mean MAAS_RESPONDER_MODEL?",
        "MAAS_RETENTION_DAY is not a setting; did you mean MAAS_RETENTION_DAYS?",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAAS_PORT", "eighty"),
        ("MAAS_PORT", "0"),
        ("MAAS_TIMEZONE", "Mars/Olympus"),
        ("MAAS_BLOCKING_SCOPE", "none"),
        ("MAAS_CONCURRENCY", "0"),
        ("MAAS_AUTH", "open"),
        ("MAAS_PAYLOAD_TOKENS", "9000"),
        ("MAAS_ENVIRONMENT", "test"),
        ("MAAS_LAYER_LOGGING", "perhaps"),
    ],
)
def test_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(MaasError) as caught:
        load_settings()
    assert caught.value.code == "bad_setting"
    assert caught.value.message.startswith(f"{name}: ")


def test_plain_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of assistants have no prefix; that of the layers has two names."""
    usual = load_settings()
    ads = usual.of(AdsSettings)
    assert (ads.meta_orchestrator_model, ads.domain_agent_model, ads.meta_max_iterations) == (None, None, 10)
    assert usual.of(CorporateSettings).corporate_planner_model is None
    assert (usual.assistants.orchestrator_debug, usual.assistants.tools_via) == (False, "mcp")
    assert usual.diagnostics.layer_logging
    for name, value in {
        "META_ORCHESTRATOR_MODEL": "openai:a",
        "DOMAIN_AGENT_MODEL": "openai:b",
        "META_MAX_ITERATIONS": "2",
        "CORPORATE_PLANNER_MODEL": "openai:c",
        "ORCHESTRATOR_DEBUG": "true",
        "USE_MCP_RUNTIME": "false",
        "ENABLE_LAYER_LOGGING": "false",
    }.items():
        monkeypatch.setenv(name, value)
    changed = load_settings()
    ads = changed.of(AdsSettings)
    models = (ads.meta_orchestrator_model, ads.domain_agent_model, ads.meta_max_iterations)
    assert models == ("openai:a", "openai:b", 2) and changed.of(CorporateSettings).corporate_planner_model == "openai:c"
    assert (changed.assistants.orchestrator_debug, changed.assistants.tools_via) == (True, "legacy")
    assert not changed.diagnostics.layer_logging
    assert unknown_settings() == []
    monkeypatch.setenv("META_MAX_ITERATIONS", "0")
    with pytest.raises(MaasError, match="META_MAX_ITERATIONS"):
        load_settings()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_open_access_is_refused(host: str) -> None:
    """Without access control nobody else may call."""
    with pytest.raises(MaasError) as caught:
        require_loopback(load_settings(host=host))
    assert caught.value.code == "open_door" and "MAAS_AUTH=keys" in caught.value.message
    require_loopback(load_settings(host=host, auth="keys"))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_is_fine(host: str) -> None:
    require_loopback(load_settings(host=host))


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("key sk-proj-abcdefgh12345678 used", "abcdefgh"),
        ("AIzaSyA1234567890abcdefghij", "1234567890"),
        ("Malformed access token EAABwzLixnjYBOqWerTyUiOpAsDfGhJk", "BwzLixnjYBO"),
        ("Authorization: Bearer eyJhbGciOi.J9", "eyJhbGciOi"),
        ("postgresql://maas:hunter22@127.0.0.1/maas", "hunter22"),
        ("call +7 (912) 345-67-1234 now", "912"),
        ("http://gate:hunter22@127.0.0.1:8000/v1 is down", "hunter22"),
        ("https://hunter22@example.org/v1 is down", "hunter22"),
        ("GET https://example.org/v1?a=1&api_key=hunter22&b=2", "hunter22"),
        ("host=127.0.0.1 password=hunter22 port=1", "hunter22"),
        ("call +7 912 345-67-89.", "345"),
        ("8(912)3456789, or 89123456789", "12"),
        ("79123456789", "7912345"),
    ],
)
def test_secrets_are_masked(text: str, gone: str) -> None:
    assert gone not in mask(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FB_BASE_URL", "graph.facebook.com"),
        ("FB_BASE_URL", "file:///etc/passwd"),
        ("FB_BASE_URL", "https://"),
        ("FB_API_VERSION", "v24.0/me"),
        ("AMOCRM_BASE_URL", "https://a.example?b=c"),
        ("EVOLUTION_BASE_URL", "https://a b"),
        ("EVOLUTION_INSTANCE", "../all"),
        ("LIGHTRAG_BASE_URL", "localhost:9621"),
        ("LIGHTRAG_USERS", "everybody"),
        ("LIGHTRAG_USERS", "*,1"),
    ],
)
def test_addresses_of_services(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(MaasError) as caught:
        load_settings()
    assert caught.value.code == "bad_setting" and caught.value.message.startswith(f"{name}: ")


KEY = "Uq9/of+no=known.form"


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"b'Bearer {KEY}'",
        quote(KEY, safe=""),
        *(base64.b64encode(f"{before}{KEY}".encode()).decode() for before in ("", "a:", "ab:", "abc:")),
    ],
)
def test_what_is_hidden_is_masked_however_it_looks(text: str) -> None:
    hide(KEY)
    masked = mask(f"before {text} after")
    assert "***" in masked and masked.startswith("before ") and masked.endswith(" after")
    assert len(masked) < 30


def test_secrets_of_the_settings_are_hidden() -> None:
    load_settings(
        database_url="postgresql://maas:Uq9%2Fdatabase@db/maas",
        openai_api_key="Uq9-openai-key\n",
        openai_base_url="http://gate:Uq9-gateway@proxy/v1?code=Uq9-in-query&api-version=2024-10-21",
        gemini_base_url="http://Uq9-user-only@proxy",
    )
    for secret in ("Uq9/database", "Uq9%2Fdatabase", "Uq9-openai-key", "Uq9-gateway", "Uq9-in-query", "Uq9-user-only"):
        assert mask(f"<{secret}>") == "<***>"
    assert mask("gate db maas proxy 2024-10-21") == "gate db maas proxy 2024-10-21"


def test_a_password_that_is_a_name_of_its_address_hides_no_word() -> None:
    load_settings(database_url="postgresql://postgres:postgres@db/postgres", openai_api_key="none")
    assert mask("Is postgres up, or is there none?") == "Is postgres up, or is there none?"


def test_logs_mask_what_is_nested_and_what_libraries_say(capsys: pytest.CaptureFixture[str]) -> None:
    hide(KEY)
    configure("info", "json")
    structlog.get_logger().info("x", cause=ValueError(KEY), found={"a": [KEY], "password": 5}, number=1, none=None)
    record = logging.LogRecord("library", logging.WARNING, "x.py", 1, f"no {KEY}", None, None)
    assert logging.lastResort is not None
    logging.lastResort.handle(record)
    line, other = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert (said["cause"], said["found"]) == ("***", {"a": ["***"], "password": "***"})
    assert (said["number"], said["none"], other) == (1, None, "no ***")
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "text",
    [
        "Cookie: session=Uq9; theme=Uq9",
        "{'set-cookie': 'sid=Uq9; Path=/', 'accept': '*/*'}",
        '{"Authorization": "Token Uq9"}',
        "(b'proxy-authorization', b'Digest Uq9')",
        "X-Api-Key: Uq9",
        '{\\"cookie\\": \\"sid=Uq9\\"}',
    ],
)
def test_headers_that_let_in_are_masked(text: str) -> None:
    assert "Uq9" not in mask(text) and "***" in mask(text)


def test_headers_that_let_in_are_masked_as_pairs_too() -> None:
    headers = {"Cookie": "Uq9", "headers": [("authorization", "Uq9"), (b"set-cookie", b"Uq9"), ("accept", "*/*")]}
    assert "Uq9" not in str(redact(headers)) and "*/*" in str(redact(headers))


@pytest.mark.parametrize("text", ["the cookie is baked", "authorization failed", "cookies: none are set"])
def test_words_about_headers_stay(text: str) -> None:
    assert mask(text) == text


def test_ids_and_times_are_not_masked() -> None:
    for text in (
        "0d1c9a3e-1111-4111-8111-123456789012",
        "2026-11-20T18:12:03.579970Z",
        "2026-11-20 18:12",
        "0.12345678901",
    ):
        assert mask(text) == text
