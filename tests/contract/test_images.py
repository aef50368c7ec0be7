"""Pictures from each provider through its real SDK, repeated by the policy alone, checked before anybody sees them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as HttpRequest
from werkzeug import Response

from maas.composition import open_deps
from maas.model_registry import open_images
from maas.settings import load_settings
from shared.db import open_database
from shared.models import Image, ModelError
from shared.models.drawing import ImageModels, draw
from tests.aimock import Aimock
from tests.contract.dialects import KEY
from tests.pictures import MAKER, bomb, exif, opened, picture

DRAWN = picture("PNG", colour="blue")
PHOTO = Image(picture("JPEG"), "image/jpeg")


@dataclass(frozen=True)
class Brush:
    """How a provider is asked for pictures, and what its answers look like."""

    provider: str
    model: str
    base: str
    path: str
    photo_path: str

    def settings(self, url: str, role: str = "model") -> dict[str, str]:
        return {
            f"image_{role}": f"{self.provider}:{self.model}",
            f"{self.provider}_api_key": KEY,
            f"{self.provider}_base_url": url + self.base,
        }

    def body(self, data: bytes | str) -> dict[str, Any]:
        text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
        if self.provider == "openai":
            return {"created": 1, "data": [{"b64_json": text}], "output_format": "png", "usage": None}
        thought = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thought": True}
        parts = [{"text": "Here it is."}, thought, {"inlineData": {"mimeType": "image/png", "data": text}}]
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}]}


OPENAI = Brush("openai", "gpt-image-1", "/v1", "/v1/images/generations", "/v1/images/edits")
_GEMINI = "/v1beta/models/gemini-2.5-flash-image:generateContent"
GEMINI = Brush("gemini", "gemini-2.5-flash-image", "", _GEMINI, _GEMINI)


@pytest.fixture(params=(OPENAI, GEMINI), ids=lambda brush: brush.provider)
def brush(request: pytest.FixtureRequest) -> Brush:
    found: Brush = request.param
    return found


def local(httpserver: HTTPServer) -> str:
    return httpserver.url_for("").rstrip("/")


@asynccontextmanager
async def opening(settings: dict[str, str]) -> AsyncIterator[ImageModels]:
    async with open_images(load_settings(retry_delay=0.01, **settings)) as images:
        assert images is not None
        yield images


async def ask(settings: dict[str, str], photo: Image | None = None, timeout: float = 10) -> Image:
    async with opening(settings) as images:
        return await draw(images, "A cat on a бревне", photo, timeout)


async def failure(settings: dict[str, str], photo: Image | None = None, timeout: float = 10) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(settings, photo, timeout)
    assert KEY not in caught.value.message
    return caught.value


@pytest.mark.parametrize("photo", [None, PHOTO], ids=["without a photo", "with one"])
async def test_openai_speaks_as_aimock_does(aimock: Aimock, photo: Image | None) -> None:
    drawn = {"image": {"b64Json": base64.b64encode(DRAWN).decode()}}
    aimock.fixtures({"match": {"userMessage": "A cat on a бревне", "model": OPENAI.model}, "response": drawn})
    assert await ask(OPENAI.settings(aimock.url), photo) == Image(DRAWN, "image/png")
    (entry,) = aimock.journal()
    assert entry["path"] == (OPENAI.photo_path if photo else OPENAI.path)


@pytest.mark.parametrize("photo", [None, PHOTO], ids=["without a photo", "with one"])
async def test_prompt_and_photo_arrive(brush: Brush, httpserver: HTTPServer, photo: Image | None) -> None:
    httpserver.expect_request(brush.photo_path if photo else brush.path).respond_with_json(brush.body(DRAWN))
    assert await ask(brush.settings(local(httpserver)), photo) == Image(DRAWN, "image/png")
    ((request, _),) = httpserver.log
    if brush is GEMINI:
        text, *rest = request.get_json()["contents"][0]["parts"]
        sent = [base64.b64decode(part["inlineData"]["data"], b"-_") for part in rest]
        types = [part["inlineData"]["mime_type"] for part in rest]  # as the SDK writes it; the service takes both
        asked = text["text"]
        assert "IMAGE" in request.get_json()["generationConfig"]["responseModalities"]
    elif photo is None:
        sent, types, asked = [], [], request.get_json()["prompt"]
    else:
        with closing(request.files["image"]) as file:
            assert (request.form["model"], file.filename) == (OPENAI.model, "photo.jpeg")
            sent, types, asked = [file.read()], [file.mimetype], request.form["prompt"]
    assert asked == "A cat on a бревне"
    assert (sent, types) == (([PHOTO.data], ["image/jpeg"]) if photo else ([], []))


BLOCKED: dict[str, list[tuple[int, dict[str, Any]]]] = {
    "openai": [
        (400, {"error": {"message": "Your request was rejected by the safety system.", "code": "moderation_blocked"}}),
        (400, {"error": {"message": "Against our policy.", "code": "content_policy_violation"}}),
    ],
    "gemini": [
        (200, {"promptFeedback": {"blockReason": "SAFETY"}}),
        (200, {"candidates": [{"finishReason": "IMAGE_SAFETY", "index": 0}]}),
        (200, {"candidates": [{"content": {"role": "model"}, "finishReason": "PROHIBITED_CONTENT"}]}),
    ],
}


@pytest.mark.parametrize("number", range(3))
async def test_what_is_not_drawn_is_filtered(brush: Brush, httpserver: HTTPServer, number: int) -> None:
    answers = BLOCKED[brush.provider]
    status, body = answers[number % len(answers)]
    httpserver.expect_request(brush.path).respond_with_json(body, status)
    error = await failure(brush.settings(local(httpserver)))
    assert (error.code, error.retryable, len(httpserver.log)) == ("filtered", False, 1)


async def test_429_then_200(brush: Brush, httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request(brush.path).respond_with_json({"error": {"message": "slow down"}}, 429)
    httpserver.expect_ordered_request(brush.path).respond_with_json(brush.body(DRAWN))
    assert (await ask(brush.settings(local(httpserver)))).data == DRAWN
    assert len(httpserver.log) == 2


@pytest.mark.parametrize(("status", "code"), [(401, "unauthorized"), (404, "unknown_model"), (400, "bad_request")])
async def test_what_stays_wrong_is_asked_once(brush: Brush, httpserver: HTTPServer, status: int, code: str) -> None:
    httpserver.expect_request(brush.path).respond_with_json({"error": {"message": f"no luck with {KEY}"}}, status)
    error = await failure(brush.settings(local(httpserver)))
    assert (error.code, len(httpserver.log)) == (code, 1)
    assert f"{brush.provider}:{brush.model} answered {status}: no luck with ***" in error.message


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>", picture("JPEG")[:-60], bomb(7000, 6000), bytes(20 * 1024 * 1024 + 1), "{not base64}"],
    ids=["empty", "html", "cut", "bomb", "huge", "no base64"],
)
async def test_what_is_no_picture_is_malformed(brush: Brush, httpserver: HTTPServer, data: bytes | str) -> None:
    httpserver.expect_request(brush.path).respond_with_json(brush.body(data))
    assert (await failure(brush.settings(local(httpserver)))).code == "malformed"


@pytest.mark.parametrize("body", [{}, {"data": []}, {"data": [{"url": "x"}]}, {"candidates": []}, [], "x"])
async def test_a_reply_of_another_form_is_malformed(brush: Brush, httpserver: HTTPServer, body: Any) -> None:
    httpserver.expect_request(brush.path).respond_with_data(json.dumps(body), content_type="application/json")
    assert (await failure(brush.settings(local(httpserver)))).code == "malformed"


async def test_words_instead_of_a_picture_are_reported(httpserver: HTTPServer) -> None:
    parts = [{"text": "I would need a photo for that."}]
    body = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    httpserver.expect_request(GEMINI.path).respond_with_json(body)
    error = await failure(GEMINI.settings(local(httpserver)))
    assert (error.code, "I would need a photo" in error.message) == ("malformed", True)


async def test_the_type_comes_from_the_bytes_and_metadata_goes(brush: Brush, httpserver: HTTPServer) -> None:
    httpserver.expect_request(brush.path).respond_with_json(brush.body(picture("WEBP", exif=exif())))
    drawn = await ask(brush.settings(local(httpserver)))
    assert drawn.media_type == "image/webp"
    assert MAKER.encode() not in drawn.data and opened(drawn.data).size == (40, 20)


async def test_who_says_nothing_times_out(brush: Brush, httpserver: HTTPServer) -> None:
    release = threading.Event()

    def hang(_: HttpRequest) -> Response:
        release.wait(20)
        return Response(status=500)

    httpserver.expect_request(brush.path).respond_with_handler(hang)
    try:
        error = await failure(brush.settings(local(httpserver)), timeout=0.3)
    finally:
        release.set()
    assert error.code == "timeout"


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_the_fallback_draws(brush: Brush, httpserver: HTTPServer, status: int) -> None:
    other = GEMINI if brush is OPENAI else OPENAI
    httpserver.expect_request(brush.photo_path).respond_with_json({"error": {"message": "on purpose"}}, status)
    httpserver.expect_request(other.photo_path).respond_with_json(other.body(DRAWN))
    url = local(httpserver)
    assert (await ask(brush.settings(url) | other.settings(url, "fallback"), PHOTO)).data == DRAWN


async def test_the_fallback_fails_too(httpserver: HTTPServer) -> None:
    httpserver.expect_request(OPENAI.path).respond_with_json(OPENAI.body(b"no picture"))
    httpserver.expect_request(GEMINI.path).respond_with_json({"promptFeedback": {"blockReason": "SAFETY"}})
    url = local(httpserver)
    assert (await failure(OPENAI.settings(url) | GEMINI.settings(url, "fallback"))).code == "filtered"


async def test_a_wrong_request_is_not_asked_again(httpserver: HTTPServer) -> None:
    httpserver.expect_request(OPENAI.path).respond_with_json({"error": {"message": "there is no such size"}}, 400)
    url = local(httpserver)
    assert (await failure(OPENAI.settings(url) | GEMINI.settings(url, "fallback"))).code == "bad_request"
    assert len(httpserver.log) == 1


async def test_stages_are_given_who_draws(database: str) -> None:
    settings = load_settings(**OPENAI.settings("http://localhost"), **GEMINI.settings("http://localhost", "fallback"))
    async with open_database(database, 2, "test") as db, open_deps(db, settings, None) as deps:
        assert deps.models.images is not None and deps.models.images.fallback is not None
        assert [deps.models.images.model.name, deps.models.images.fallback.name] == [OPENAI.model, GEMINI.model]


async def test_without_a_model_one_clear_line() -> None:
    with pytest.raises(ModelError, match="set MAAS_IMAGE_MODEL"):
        await draw(None, "A cat", None, 1)
