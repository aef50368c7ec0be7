"""Settings: defaults, names, and one clear line for a wrong one."""

from __future__ import annotations

import pytest

from server import refuse_open_door
from shared.errors import MaasError
from shared.log import mask
from shared.settings import ROLES, load_settings


def test_defaults() -> None:
    """[FIN-10, REQ-ANL-6, REQ-ASM-7, REQ-FIN-7, REQ-DRB-2] The documented numbers."""
    settings = load_settings()
    assert (settings.temperature, settings.max_tokens, settings.attempt_timeout) == (0.7, 2000, 30.0)
    assert (settings.analyzer_timeout, settings.assembler_timeout, settings.archivist_timeout) == (3.0, 3.0, 20.0)
    assert (settings.history_rows, settings.payload_tokens) == (10, 8000)
    assert {settings.role_model(role) for role in ROLES} == {"extractive:builtin"}


def test_one_variable_switches_all_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAAS_MODEL", "openai:gpt-4o")
    monkeypatch.setenv("MAAS_ARCHIVIST_MODEL", "gemini:gemini-1.5-pro")
    settings = load_settings()
    assert settings.role_model("FinalResponder") == "openai:gpt-4o"
    assert settings.role_model("Archivist") == "gemini:gemini-1.5-pro"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAAS_PORT", "eighty"), ("MAAS_PORT", "0"), ("MAAS_TIMEZONE", "Mars/Olympus"), ("MAAS_BLOCKING_SCOPE", "none"),
        ("MAAS_CONCURRENCY", "0"), ("MAAS_AUTH", "open"), ("MAAS_PAYLOAD_TOKENS", "9000"),
    ],
)  # fmt: skip
def test_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(MaasError) as caught:
        load_settings()
    assert caught.value.code == "bad_setting"
    assert caught.value.message.startswith(f"{name}: ")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_open_door_is_refused(host: str) -> None:
    """Without access control nobody else may call."""
    with pytest.raises(MaasError) as caught:
        refuse_open_door(load_settings(host=host))
    assert caught.value.code == "open_door"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_is_fine(host: str) -> None:
    refuse_open_door(load_settings(host=host))


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("key sk-proj-abcdefgh12345678 used", "abcdefgh"),
        ("AIzaSyA1234567890abcdefghij", "1234567890"),
        ("Authorization: Bearer eyJhbGciOi.J9", "eyJhbGciOi"),
        ("postgresql://maas:hunter22@127.0.0.1/maas", "hunter22"),
        ("call +7 (912) 345-67-1234 now", "912"),
    ],
)
def test_secrets_are_masked(text: str, gone: str) -> None:
    assert gone not in mask(text)


def test_ids_and_times_are_not_masked() -> None:
    for text in ("0d1c9a3e-1111-4111-8111-123456789012", "2026-11-20T18:12:03.579970Z", "2026-11-20 18:12"):
        assert mask(text) == text
