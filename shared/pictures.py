"""Pictures from elsewhere: known by their bytes, decoded once, stored without what they tell beside the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, TypeVar

from PIL import Image, ImageFile

from shared.upright import TURNS, turned

Result = TypeVar("Result")
PIXELS = 40_000_000
BROKEN = "is a broken image: it cannot be decoded to its end"
FOREIGN = "is no JPEG, PNG or WebP image"
MOST_BYTES = 20 * 1024 * 1024
_TYPES = {"JPEG": "image/jpeg", "MPO": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_ORIENTATION = 0x0112
# What may stand beside the pixels: how they are shown, nothing about who made them, where and when.
_PLAIN = frozenset({
    "jfif", "jfif_version", "jfif_unit", "jfif_density", "dpi", "adobe", "adobe_transform", "progressive",
    "progression", "icc_profile", "gamma", "transparency", "srgb", "aspect", "chromaticity", "interlace", "background",
    "loop", "duration", "timestamp",
})  # fmt: skip
_MOVING = {"loop", "duration", "timestamp"}
_SEGMENTS = {"APP0": b"JFIF", "APP2": b"ICC_PROFILE", "APP14": b"Adobe"}
_FRAMES = {0xC0, 0xC1, 0xC2}  # kinds of frames that are decoded
_PROGRESSIVE, _SCAN = 0xC2, 0xDA
_END = {"JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}
_HOW: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95}, "PNG": {}, "WEBP": {"quality": 95, "exact": True}}
DECODED_BYTES = 200_000_000  # what a picture may take in memory while it is decoded
_decoder = ThreadPoolExecutor(max_workers=1, thread_name_prefix="picture")  # in the order in which they come
Image.MAX_IMAGE_PIXELS = None  # read_picture counts by itself, before anything is decoded


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that decodes; its sides in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


async def look_at(data: bytes) -> Picture:
    """As `read_picture`, off the event loop."""
    return await asyncio.wrap_future(in_turn(partial(read_picture, data)))


def in_turn(work: Callable[[], Result]) -> Future[Result]:
    """Have work done that takes much memory, one after another in this process, in the order in which it comes."""
    return _decoder.submit(work)


def read_picture(data: bytes) -> Picture:
    """A JPEG, PNG or WebP of at most 40 megapixels, told by its bytes; the same bytes unless there is metadata in them.

    Kinds that take more memory to decode may have fewer pixels: a WebP 12 megapixels, a progressive JPEG 16 to 28.
    Metadata is stripped, orientation applied; of several pictures in one file the first stays. Raises ValueError.
    """
    if not data:
        raise ValueError("is empty")
    with _known(lambda: Image.open(BytesIO(data), formats=("JPEG", "PNG", "WEBP")), FOREIGN) as image:
        width, height = image.size
        most = min(PIXELS, DECODED_BYTES // _pixel_bytes(image, data))
        if width * height > most:
            allowed = f"at most {most // 1_000_000} megapixels are taken of an image of this kind"
            raise ValueError(f"has {width} x {height} pixels; {allowed}")
        plain = _known(lambda: _is_plain(image, data), BROKEN)
        media_type = _TYPES[str(image.format)]
        if plain:
            return Picture(data, media_type, width, height)
        return _known(lambda: _bare(image, media_type), BROKEN)


def _known(work: Callable[[], Result], problem: str) -> Result:
    """What `work` gives: decoders fail in many ways on what is broken, and all of them mean `problem`."""
    try:
        return work()
    except Exception as error:
        raise ValueError(problem) from error


def _pixel_bytes(image: ImageFile.ImageFile, data: bytes) -> int:
    """What a pixel takes while it is decoded: the coefficients of a JPEG of several scans stand in memory first."""
    if image.format == "WEBP":
        return 16  # the decoder keeps two frames and the pixels once more
    if image.format not in ("JPEG", "MPO") or not _has_scans(data):
        return 4
    samples: list[int] = [across * down for _, across, down, _ in image.layer]  # type: ignore[attr-defined]
    return 4 + -(-2 * sum(samples) // max(samples))


def _has_scans(data: bytes) -> bool:
    """Whether a JPEG is progressive, or its first scan lacks components."""
    at, components = 2, 0
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return True  # not as it should be
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in _FRAMES:
            if marker == _PROGRESSIVE:
                return True
            components = data[at + 9]
        if marker == _SCAN:
            return data[at + 4] < components
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return True


def _is_plain(image: ImageFile.ImageFile, data: bytes) -> bool:
    image.load()
    form = str(image.format)
    if form in _END and _END[form] not in data:
        raise ValueError("it has no end")  # what is missing may be no pixel
    segments: list[tuple[str, bytes]] = getattr(image, "applist", [])
    return (
        set(image.info) <= _PLAIN
        and all(name in _SEGMENTS and said.startswith(_SEGMENTS[name]) for name, said in segments)
        and not getattr(image, "private_chunks", None)
        and getattr(image, "n_frames", 1) == 1
        and (data.endswith(_END[form]) if form in _END else int.from_bytes(data[4:8], "little") + 8 == len(data))
    )


def _bare(image: ImageFile.ImageFile, media_type: str) -> Picture:
    """The picture alone, encoded anew; a JPEG that stands upright keeps its own tables, and so its quality."""
    form = "JPEG" if media_type == "image/jpeg" else str(image.format)
    how = _HOW[form]
    image.seek(0)
    upright: Image.Image = image
    kept: dict[Any, Any] = {name: value for name, value in image.info.items() if name in _PLAIN - _MOVING}
    orientation = image.getexif().get(_ORIENTATION, 1)
    if orientation in TURNS:
        upright = turned(image, orientation)
    elif image.format == "JPEG":
        how = {"quality": "keep"}
    upright.info = kept
    out = BytesIO()
    upright.save(out, form, icc_profile=kept.get("icc_profile"), **how)
    return Picture(out.getvalue(), media_type, *upright.size)
