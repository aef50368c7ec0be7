"""The forms in which a secret is recognised, and those in which it is not."""

from __future__ import annotations

import base64
import html
import json

import pytest

from shared.log import masker

SECRET = "t0p<secret>&Key/9+z"
RAW = SECRET.encode()
RECOGNISED = {
    "plain": SECRET,
    "JSON": json.dumps(SECRET),
    "HTML": html.escape(SECRET),
    "hexadecimal": RAW.hex(),
    "capitals": RAW.hex().upper(),
    "percent signs": "".join(f"%{one:02x}" for one in RAW),
    "percent signs, capitals": "".join(f"%{one:02X}" for one in RAW),
    "escapes": "".join(f"\\x{one:02x}" for one in RAW),
    "base64": base64.b64encode(RAW).decode(),
    "base64, amid others": base64.b64encode(b"1" + RAW + b"23").decode(),
    "base64, at another place": base64.b64encode(b"12" + RAW).decode(),
    "base64url": base64.urlsafe_b64encode(b"1" + RAW).decode(),
}
NOT_RECOGNISED = {"reversed": SECRET[::-1], "spaced": " ".join(SECRET), "base32": base64.b32encode(RAW).decode()}


@pytest.mark.parametrize("form", RECOGNISED)
def test_a_secret_is_recognised(form: str) -> None:
    text = RECOGNISED[form]
    masked = masker(SECRET)(f"before {text} after")
    assert "***" in masked and masked.startswith("before ") and masked.endswith(" after")
    assert len(masked) < len("before *** after") + 12  # what base64 shares with its neighbours


@pytest.mark.parametrize("form", NOT_RECOGNISED)
def test_what_docs_say_is_not_recognised(form: str) -> None:
    assert masker(SECRET)(NOT_RECOGNISED[form]) == NOT_RECOGNISED[form]
