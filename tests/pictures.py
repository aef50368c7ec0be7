"""Small pictures in every format that is taken, with and without what cameras write into them."""

from __future__ import annotations

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
