"""A whole reply has its time, however it comes: a provider that sends a byte now and then does not prolong it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as HTTPRequest
from werkzeug import Response

from shared.models import Message, ModelError, Request
from shared.models.calls import complete
from tests.contract.dialects import DIALECTS, Dialect


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.provider)
async def test_a_reply_that_trickles_is_given_up(dialect: Dialect, httpserver: HTTPServer) -> None:
    body = json.dumps(dialect.said("words", ()))

    def trickle(_: HTTPRequest) -> Response:
        def pieces() -> Iterator[str]:
            for char in body:
                time.sleep(0.1)
                yield char

        return Response(pieces(), content_type="application/json")

    httpserver.expect_request(dialect.path).respond_with_handler(trickle)
    model = dialect.open(httpserver.url_for("").rstrip("/"))
    began = time.monotonic()
    with pytest.raises(ModelError) as caught:
        await complete(model, Request("FinalResponder", (Message("user", "Hi"),)), budget=1.0, attempt_timeout=0.5)
    assert caught.value.code == "timeout" and time.monotonic() - began < 5
    await model.close()
