"""Options of models by role and name: which entry of MAAS_MODELS holds, and what it goes before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from maas.model_options import options_of
from maas.model_registry import ModelCache
from maas.settings import Settings, load_settings
from shared.errors import MaasError
from shared.models.options import ModelOptions

HOME = "http://127.0.0.1:28082/v1"


def settings(*entries: dict[str, Any], **others: Any) -> Settings:
    return load_settings(models=json.dumps(entries), openai_api_key="sk-of-the-vendor-0123", **others)


def answering(*entries: dict[str, Any], spec: str = "openai:q", **others: Any) -> ModelOptions:
    return options_of(settings(*entries, **others), "FinalResponder", spec)


def test_without_entries_the_settings_of_roles_and_providers_hold() -> None:
    options = options_of(load_settings(analyzer_attempt_timeout=7.0), "Analyzer", "openai:gpt-4o")
    assert (options.attempt_timeout, options.attempt_source) == (7.0, "MAAS_ANALYZER_ATTEMPT_TIMEOUT")
    assert (options.tries, options.breaker_failures, options.calls, options.window) == (4, 1, None, None)
    assert (options.base_url, options.is_own_server, options.tokens_per_second) == (None, False, None)


def test_later_entries_go_before_earlier_ones_field_by_field() -> None:
    entries = (
        {"model": "openai:*", "tries": 2, "calls": 1},
        {"role": "responder", "tries": 3},
        {"role": "archivist", "model": "openai:q", "tries": 1},
        {"model": "gemini:*", "calls": 9},
    )
    assert (answering(*entries).tries, answering(*entries).calls) == (3, 1)
    for role in ("Archivist", "Compactor"):
        assert options_of(settings(*entries), role, "openai:q").tries == 1
    only = settings({"role": "compactor", "tries": 1})
    assert [options_of(only, role, "openai:q").tries for role in ("Compactor", "Archivist")] == [1, 4]


def test_they_go_before_the_limits_of_an_assistant() -> None:
    changed = settings({"model": "openai:q", "attempt_timeout": 300}).replace(responder_attempt_timeout=15.0)
    assert options_of(changed, "FinalResponder", "openai:q").attempt_timeout == 300
    assert options_of(changed, "FinalResponder", "openai:other").attempt_timeout == 15


def test_a_key_goes_to_no_other_server() -> None:
    other = answering({"model": "openai:q", "base_url": HOME})
    assert (other.base_url, other.api_key, other.is_own_server) == (HOME, None, True)
    keyed = answering({"model": "openai:q", "base_url": HOME, "api_key": "sk-own-0123456"})
    assert keyed.api_key is not None and keyed.api_key.get_secret_value() == "sk-own-0123456"
    assert "sk-own" not in repr(keyed)
    vendor = answering({"tries": 1})
    assert vendor.api_key is not None and not vendor.is_own_server


def test_a_server_of_ones_own_may_use_the_time_of_its_stage() -> None:
    assert answering(openai_base_url=HOME).attempt_timeout is None
    assert answering(openai_base_url=HOME).tokens_per_second == 1
    assert answering(openai_base_url=HOME, attempt_timeout=30).attempt_timeout == 30
    assert answering(openai_base_url="https://eu.api.openai.com/v1").attempt_timeout == 30


def test_a_pace_takes_the_place_of_a_timeout() -> None:
    options = answering({"first_token_timeout": 60, "tokens_per_second": 2})
    assert (options.attempt_timeout, options.first_token_timeout, options.tokens_per_second) == (None, 60, 2)


def test_a_file_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_AT_HOME", 'sk-"quoted"-0123')
    file = tmp_path / "models.json"
    file.write_text('[{"model": "openai:q", "api_key": "${KEY_AT_HOME}"}]')
    key = options_of(load_settings(models=str(file)), "Analyzer", "openai:q").api_key
    assert key is not None and key.get_secret_value() == 'sk-"quoted"-0123'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/nowhere.json", "MAAS_MODELS: '/nowhere.json' cannot be read: No such file or directory"),
        ("[{]", "MAAS_MODELS is not a JSON list"),
        ('[{"attempt_timout": 3}]', "MAAS_MODELS: 0.attempt_timout"),
        ('[{"role": "Mentor"}]', "MAAS_MODELS: 0.role"),
        ('[{"tries": 0}]', "MAAS_MODELS: 0.tries"),
        ('[{"base_url": "localhost"}]', "MAAS_MODELS: 0.base_url"),
        ('[{"api_key": "${NOBODY_SET_THIS}"}]', "MAAS_MODELS names the variable NOBODY_SET_THIS, which is not set"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(MaasError) as caught:
        options_of(load_settings(models=text), "Analyzer", "openai:q")
    assert caught.value.code == "bad_setting" and caught.value.message.startswith(message)


async def test_roles_share_a_model_where_its_server_is_one() -> None:
    cache = ModelCache(settings({"role": "archivist", "base_url": HOME}))
    analyzer, responder, archivist, compactor = (
        cache.get("openai:q", role) for role in ("Analyzer", "FinalResponder", "Archivist", "Compactor")
    )
    assert analyzer is responder and archivist is compactor and analyzer is not archivist
    await cache.aclose()


@pytest.mark.parametrize(
    ("spec", "url", "calls"),
    [
        ("openai:q", HOME, 1),
        ("openai:q", "http://gpu.lan:11434/v1", 1),
        ("ollama:q", None, 1),
        ("openai:q", "https://gateway.example.org/v1", None),
        ("vllm:q", None, None),
        ("openai:q", None, None),
    ],
)
def test_only_servers_that_read_one_request_after_another_get_one(
    spec: str, url: str | None, calls: int | None
) -> None:
    """A gateway with many models behind it is not held to one call of a process."""
    assert answering(spec=spec, openai_base_url=url, model=spec, model_profile="local").calls == calls
