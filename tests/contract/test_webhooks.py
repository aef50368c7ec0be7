"""Our signatures before the package of the standard for JavaScript; the one for Python is in tests/unit."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
import time
from pathlib import Path

import pytest

from maas.webhooks.signatures import sign
from tests.aimock import missing

PROGRAM = Path(__file__).with_name("webhooks.mjs")


def test_the_package_for_javascript_verifies_what_we_sign() -> None:
    """With either secret of a rotation, and with no other."""
    if reason := missing():
        pytest.skip(reason)
    own, former, other = ("whsec_" + base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(3))
    event = {"type": "run.completed", "data": {"answer": "Её зовут Комета. 🐕"}}
    body = json.dumps(event, ensure_ascii=False)
    headers = sign([own, former], "msg_1", int(time.time()), body.encode())
    lines = [json.dumps({"secret": secret, "headers": headers, "body": body}) for secret in (own, former, other)]
    done = subprocess.run(
        ["node", str(PROGRAM)], input="\n".join(lines), capture_output=True, text=True, timeout=60, check=True
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [event, event, "WebhookVerificationError"]
