"""Images from outside: recognised by their bytes, decoded once, stored upright and without metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any, TypeVar

from PIL import Image, ImageFile
from PIL.Image import Transpose

Result = TypeVar("Result")
MAX_PIXELS = 40_000_000
MAX_IMAGE_BYTES = 20 * 1024 * 1024
MAX_DECODED_BYTES = 200_000_000  # memory that an image may take while it is decoded
STRIP_ROWS = 256
BROKEN = "is a broken image: it cannot be decoded to its end"
FOREIGN = "is not a JPEG, PNG or WebP image"
_TYPES = {"JPEG": "image/jpeg", "MPO": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_ORIENTATION = 0x0112
# Metadata that is kept: how pixels are shown, nothing about author, place and time.
_KEPT_METADATA = frozenset({
    "jfif", "jfif_version", "jfif_unit", "jfif_density", "dpi", "adobe", "adobe_transform", "progressive",
    "progression", "icc_profile", "gamma", "transparency", "srgb", "aspect", "chromaticity", "interlace", "background",
    "loop", "duration", "timestamp",
})  # fmt: skip
_WEBP_QUALITIES = (90, 75, 50)
_ANIMATION = {"loop", "duration", "timestamp"}
_SEGMENTS = {"APP0": b"JFIF", "APP2": b"ICC_PROFILE", "APP14": b"Adobe"}
_FRAMES = {0xC0, 0xC1, 0xC2}  # kinds of JPEG frames that can be decoded
_PROGRESSIVE, _SCAN = 0xC2, 0xDA
_END = {"JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}
_SAVE_OPTIONS: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95}, "PNG": {}, "WEBP": {"quality": 95, "exact": True}}
TRANSPOSITIONS = {  # by the EXIF orientation
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
_SIDES_EXCHANGED = (5, 6, 7, 8)
_BOTTOM_UP = (3, 4, 6, 7)  # orientations whose first row comes last
_decoder = ThreadPoolExecutor(max_workers=1, thread_name_prefix="image")
Image.MAX_IMAGE_PIXELS = None  # sanitize_image checks the size itself, before anything is decoded


@dataclass(frozen=True, slots=True)
class SanitizedImage:
    """An image that was decoded without error and holds no metadata; its sides in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


async def sanitize_image_async(data: bytes) -> SanitizedImage:
    """Run `sanitize_image` outside the event loop."""
    return await asyncio.wrap_future(submit_in_order(partial(sanitize_image, data)))


async def fit_webp_async(data: bytes, side: int, max_bytes: int) -> bytes | None:
    """A WebP of an image whose longer side has `side` pixels; None if it does not fit into `max_bytes`."""
    return await asyncio.wrap_future(submit_in_order(partial(fit_webp, data, side, max_bytes)))


def fit_webp(data: bytes, side: int, max_bytes: int) -> bytes | None:
    """Run by `fit_webp_async`; `data` are of a stored image."""
    with Image.open(BytesIO(data)) as image:
        scale = side / max(image.size)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        fitted = image.convert("RGBA").resize(size, Image.Resampling.LANCZOS)
    for quality in _WEBP_QUALITIES:
        with BytesIO() as file:
            fitted.save(file, "WEBP", quality=quality)
            if file.tell() <= max_bytes:
                return file.getvalue()
    return None


def submit_in_order(work: Callable[[], Result]) -> Future[Result]:
    """Run memory-hungry work in a thread, one piece at a time in this process, in the order of submission."""
    return _decoder.submit(work)


def sanitize_image(data: bytes) -> SanitizedImage:
    """Check and clean a JPEG, PNG or WebP of at most 40 megapixels; a clean file is returned as it is.

    Formats that take more memory to decode may have fewer pixels: a WebP 12 megapixels, a progressive JPEG 16 to 28.
    Metadata is removed, the orientation applied; of several frames the first is kept. Raises ValueError.
    """
    if not data:
        raise ValueError("is empty")
    with _checked(lambda: Image.open(BytesIO(data), formats=("JPEG", "PNG", "WEBP")), FOREIGN) as image:
        width, height = image.size
        limit = min(MAX_PIXELS, MAX_DECODED_BYTES // _pixel_bytes(image, data))
        if width * height > limit:
            allowed = f"at most {limit // 1_000_000} megapixels are allowed in an image of this kind"
            raise ValueError(f"has {width} x {height} pixels; {allowed}")
        is_clean = _checked(lambda: _is_clean(image, data), BROKEN)
        media_type = _TYPES[str(image.format)]
        if is_clean:
            return SanitizedImage(data, media_type, width, height)
        return _checked(lambda: _cleaned(image, media_type), BROKEN)


def _checked(work: Callable[[], Result], problem: str) -> Result:
    """Return the result of `work`; every exception of a decoder means `problem`. Raises ValueError."""
    try:
        return work()
    except Exception as error:
        raise ValueError(problem) from error


def _pixel_bytes(image: ImageFile.ImageFile, data: bytes) -> int:
    """Return the bytes of memory per pixel while decoding: a JPEG of several scans keeps its coefficients, too."""
    if image.format == "WEBP":
        return 16  # the decoder keeps two frames and the pixels once more
    if image.format not in ("JPEG", "MPO") or not _has_scans(data):
        return 4
    samples: list[int] = [across * down for _, across, down, _ in image.layer]  # type: ignore[attr-defined]
    return 4 + -(-2 * sum(samples) // max(samples))


def _has_scans(data: bytes) -> bool:
    """Return whether a JPEG is progressive, or its first scan lacks components."""
    at, components = 2, 0
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return True  # malformed
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


def _is_clean(image: ImageFile.ImageFile, data: bytes) -> bool:
    image.load()
    form = str(image.format)
    if form in _END and _END[form] not in data:
        raise ValueError("it has no end")  # the missing part may hold no pixel
    segments: list[tuple[str, bytes]] = getattr(image, "applist", [])
    return (
        set(image.info) <= _KEPT_METADATA
        and all(name in _SEGMENTS and content.startswith(_SEGMENTS[name]) for name, content in segments)
        and not getattr(image, "private_chunks", None)
        and getattr(image, "n_frames", 1) == 1
        and (data.endswith(_END[form]) if form in _END else int.from_bytes(data[4:8], "little") + 8 == len(data))
    )


def _cleaned(image: ImageFile.ImageFile, media_type: str) -> SanitizedImage:
    """Encode the image anew without metadata; a JPEG that needs no turn keeps its own tables, and so its quality."""
    form = "JPEG" if media_type == "image/jpeg" else str(image.format)
    options = _SAVE_OPTIONS[form]
    image.seek(0)
    upright: Image.Image = image
    metadata: dict[Any, Any] = {
        name: value for name, value in image.info.items() if name in _KEPT_METADATA - _ANIMATION
    }
    orientation = image.getexif().get(_ORIENTATION, 1)
    if orientation in TRANSPOSITIONS:
        upright = _upright(image, orientation)
    elif image.format == "JPEG":
        options = {"quality": "keep"}
    upright.info = metadata
    out = BytesIO()
    upright.save(out, form, icc_profile=metadata.get("icc_profile"), **options)
    return SanitizedImage(out.getvalue(), media_type, *upright.size)


def _upright(image: ImageFile.ImageFile, orientation: int) -> Image.Image:
    """Return the image turned upright, with one copy of its pixels in memory; `image` is closed.

    The pixels wait in a temporary file meanwhile.
    """
    mode, (width, height) = image.mode, image.size
    is_exchanged = orientation in _SIDES_EXCHANGED
    palette = image.getpalette() if mode == "P" else None
    row_bytes = len(image.crop((0, 0, width, 1)).tobytes())
    with TemporaryFile() as pixels:
        for top in range(0, height, STRIP_ROWS):
            pixels.write(image.crop((0, top, width, min(top + STRIP_ROWS, height))).tobytes())
        image.close()
        vars(image).pop("_decoder", None)  # that of WebP keeps two frames
        pixels.seek(0)
        result = Image.new(mode, (height, width) if is_exchanged else (width, height))
        if palette is not None:
            result.putpalette(palette)
        for top in range(0, height, STRIP_ROWS):
            rows = min(STRIP_ROWS, height - top)
            strip = Image.frombytes(mode, (width, rows), pixels.read(row_bytes * rows))
            offset = height - top - rows if orientation in _BOTTOM_UP else top
            result.paste(strip.transpose(TRANSPOSITIONS[orientation]), (offset, 0) if is_exchanged else (0, offset))
    return result
