"""Small pictures in every format that is taken, with and without what cameras write into them."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import ExifTags, Image

MAKER = "Zenit-qzx81"
FORMATS = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}


def picture(form: str = "PNG", size: tuple[int, int] = (40, 20), colour: str = "red", **options: Any) -> bytes:
    """A picture of one colour, with a green corner."""
    image = Image.new("RGB", size, colour)
    image.paste("green", (0, 0, 10, 10))
    return encode(image, form, **options)


def encode(image: Image.Image, form: str, **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def exif(orientation: int = 1) -> Image.Exif:
    """A camera, a place, and how it was held."""
    written = Image.Exif()
    written[ExifTags.Base.Make] = MAKER
    written[ExifTags.Base.Orientation] = orientation
    written.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitudeRef] = "N"
    return written


def opened(data: bytes) -> Image.Image:
    """What the bytes show."""
    image = Image.open(BytesIO(data))
    image.load()
    return image


def bomb(width: int, height: int) -> bytes:
    """A PNG that claims more pixels than it holds."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(b"\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pixels + chunk(b"IEND", b"")
