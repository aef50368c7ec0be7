"""Turning a picture as its orientation says, with one copy of its pixels in memory."""

from __future__ import annotations

from tempfile import TemporaryFile

from PIL import Image, ImageFile
from PIL.Image import Transpose

STRIP_ROWS = 256
TURNS = {
    2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM, 5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE, 8: Transpose.ROTATE_90,
}  # fmt: skip
_LIES = (5, 6, 7, 8)  # orientations that exchange the sides
_FROM_THE_END = (3, 4, 6, 7)  # whose first row comes last


def turned(image: ImageFile.ImageFile, orientation: int) -> Image.Image:
    """The upright picture; `image` is closed, its pixels wait in a temporary file meanwhile."""
    mode, (width, height) = image.mode, image.size
    palette = image.getpalette() if mode == "P" else None
    row_bytes = len(image.crop((0, 0, width, 1)).tobytes())
    with TemporaryFile() as pixels:
        for top in range(0, height, STRIP_ROWS):
            pixels.write(image.crop((0, top, width, min(top + STRIP_ROWS, height))).tobytes())
        image.close()
        vars(image).pop("_decoder", None)  # that of WebP keeps two frames
        pixels.seek(0)
        found = Image.new(mode, (height, width) if orientation in _LIES else (width, height))
        if palette is not None:
            found.putpalette(palette)
        for top in range(0, height, STRIP_ROWS):
            rows = min(STRIP_ROWS, height - top)
            strip = Image.frombytes(mode, (width, rows), pixels.read(row_bytes * rows)).transpose(TURNS[orientation])
            place = height - top - rows if orientation in _FROM_THE_END else top
            found.paste(strip, (place, 0) if orientation in _LIES else (0, place))
    return found
