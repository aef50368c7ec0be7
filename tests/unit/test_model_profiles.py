"""Profiles: an own server chooses its own, a small model answers and leaves the rest to rules; what is set stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from maas.settings import load_settings
from maas.settings.models import ROLES
from maas.settings.profiles import BUILTIN_MODEL, PROFILES, parameters_in
from shared.local_servers import is_loopback, is_own, kind_of

HOME = "http://192.168.1.7:8080/v1"
OTHERS = ("Analyzer", "Assembler", "Archivist", "Compactor")


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("MAAS_MODEL_PROFILE")
    yield


@pytest.mark.parametrize(
    ("settings", "profile"),
    [
        ({}, "cloud"),
        ({"model": "openai:gpt-4o"}, "cloud"),
        ({"model": "openai:gpt-4o", "openai_base_url": "https://api.openai.com/v1"}, "cloud"),
        ({"model": "openai:qwen3-4b", "openai_base_url": "https://openrouter.ai/api/v1"}, "cloud"),
        ({"model": "openai:gpt-4o", "openai_base_url": "https://me.openai.azure.com/openai/v1"}, "cloud"),
        ({"model": "gemini:gemini-2.5-flash", "openai_base_url": HOME}, "cloud"),
        ({"model": "openai:qwen3-30b-a3b", "openai_base_url": HOME}, "local"),
        ({"model": "openai:q", "openai_base_url": HOME}, "local"),
        ({"model": "openai:qwen2.5-1.5b", "openai_base_url": HOME}, "small"),
        ({"model": "ollama:qwen3"}, "local"),
        ({"model": "ollama:qwen3:4b"}, "small"),
        ({"responder_model": "ollama:gemma3:270m"}, "small"),
        ({"model": "ollama:qwen3:4b", "responder_model": "openai:gpt-4o"}, "cloud"),
        ({"model": "ollama:qwen3:4b", "model_profile": "local"}, "local"),
        ({"model": "openai:gpt-4o", "model_profile": "small"}, "small"),
    ],
)
def test_the_model_that_answers_chooses_the_profile(settings: dict[str, str], profile: str) -> None:
    assert load_settings(**settings).profile == profile


def test_a_small_model_answers_and_rules_do_the_rest() -> None:
    settings = load_settings(model="ollama:qwen3:4b")
    assert settings.models.role_model("FinalResponder") == "ollama:qwen3:4b"
    assert {settings.models.role_model(role) for role in OTHERS} == {BUILTIN_MODEL}
    assert "analyzer_model" not in settings.models.model_fields_set


def test_a_model_at_home_has_all_roles_and_time() -> None:
    settings = load_settings(model="ollama:qwen3:14b")
    assert {settings.models.role_model(role) for role in ROLES} == {"ollama:qwen3:14b"}
    hosted = load_settings(model="openai:gpt-4o")
    for name in ("analyzer_timeout", "assembler_timeout", "archivist_timeout", "responder_timeout"):
        assert settings.named(name) >= 4 * hosted.named(name)


def test_what_is_set_goes_before_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAAS_ANALYZER_MODEL", "openai:gpt-4o-mini")
    monkeypatch.setenv("MAAS_ARCHIVIST_TIMEOUT", "7")
    settings = load_settings(model="ollama:qwen3:4b", payload_tokens=8000)
    assert settings.models.role_model("Analyzer") == "openai:gpt-4o-mini"
    assert (settings.models.archivist_timeout, settings.answers.payload_tokens) == (7.0, 8000)
    assert settings.models.role_model("Archivist") == BUILTIN_MODEL


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_hold_settings_and_their_values_are_allowed(profile: str) -> None:
    values = PROFILES[profile]  # type: ignore[index]
    checked = load_settings(**values)
    assert {name: checked.named(name) for name in values} == values


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("qwen3:4b", 4e9),
        ("qwen2.5-coder-1.5b-instruct-q4_k_m", 1.5e9),
        ("/models/1.5b.gguf", 1.5e9),
        ("gemma3:270m", 2.7e8),
        ("qwen3-30b-a3b", 3e10),
        ("Mixtral-8x7B", 7e9),
        ("phi4-mini-4bit", None),
        ("llama3.2", None),
        ("model-bf16", None),
        ("gemma-3n-E4B", 4e9),
        ("2.5-7B", 7e9),
    ],
)
def test_sizes_in_names(name: str, parameters: float | None) -> None:
    assert parameters_in(name) == parameters


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://API.Groq.com/openai/v1", None, ""])
def test_servers_of_vendors(url: str | None) -> None:
    assert not is_own(url)


@pytest.mark.parametrize(
    "url", ["http://localhost:1", "http://notopenai.com", "https://gpu.lan/v1", "http://[::1]:8/v1"]
)
def test_own_servers(url: str) -> None:
    assert is_own(url)


@pytest.mark.parametrize(
    ("url", "kind"),
    [("http://localhost:11434/v1", "ollama"), ("http://gpu:1234/v1", "lmstudio"), ("http://gpu:8080/v1", None)],
)
def test_a_port_tells_the_kind_of_a_server(url: str, kind: str | None) -> None:
    assert kind_of(url) == kind


def test_addresses_of_this_machine() -> None:
    assert all(map(is_loopback, ("http://127.0.0.1:1", "http://localhost:2/v1", "http://[::1]:3", "http://127.9.9.9")))
    assert not any(map(is_loopback, ("http://10.0.0.1", "http://localhost.example", "http://gpu")))
