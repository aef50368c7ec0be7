"""The type of a picture comes from its bytes; it is kept as it is, without its metadata."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from shared.images import TRANSPOSITIONS, sanitize_image
from tests.pictures import FORMATS, MAKER, bomb, encode, exif, opened, picture

MODES = [
    ("JPEG", "RGB"),
    ("JPEG", "L"),
    ("JPEG", "CMYK"),
    ("PNG", "RGBA"),
    ("PNG", "P"),
    ("PNG", "1"),
    ("PNG", "LA"),
    ("WEBP", "RGB"),
    ("WEBP", "RGBA"),
]


@pytest.mark.parametrize(("form", "mode"), MODES)
def test_a_plain_picture_stays_as_it_is(form: str, mode: str) -> None:
    data = encode(Image.new("RGB", (40, 20), "red").convert(mode), form)
    found = sanitize_image(data)
    assert (found.data, found.media_type, found.width, found.height) == (data, FORMATS[form], 40, 20)


@pytest.mark.parametrize("form", FORMATS)
def test_metadata_goes_and_the_picture_stands_upright(form: str) -> None:
    """The place and the camera are gone; what was turned by a note is turned in fact; twice is as once."""
    data = picture(form, exif=exif(6))
    assert MAKER.encode() in data
    found = sanitize_image(data)
    assert (found.width, found.height) == (20, 40)
    assert MAKER.encode() not in found.data and not opened(found.data).getexif()
    red, green, _ = opened(found.data).convert("RGB").getpixel((15, 5))  # type: ignore[misc]
    assert green > red  # the corner went from the left to the right
    assert sanitize_image(found.data) == found


def test_a_jpeg_that_stands_upright_keeps_its_quality() -> None:
    data = picture("JPEG", exif=exif(), comment=b"taken at home", quality=63)
    found = sanitize_image(data)
    assert b"home" not in found.data
    assert opened(found.data).quantization == opened(data).quantization  # type: ignore[attr-defined]


def notes() -> PngImagePlugin.PngInfo:
    info = PngImagePlugin.PngInfo()
    info.add_text("Prompt", MAKER)
    info.add_itxt("XML:com.adobe.xmp", MAKER)
    return info


@pytest.mark.parametrize(
    "data",
    [
        picture("PNG", pnginfo=notes()),
        picture("PNG") + MAKER.encode(),
        picture("JPEG") + MAKER.encode(),
        picture("WEBP") + MAKER.encode(),
        picture("WEBP", xmp=MAKER.encode()),
        picture("JPEG", xmp=MAKER.encode()),
        picture("JPEG", extra=b"\xff\xed" + struct.pack(">H", 2 + len(MAKER)) + MAKER.encode()),
    ],
    ids=["text", "after png", "after jpeg", "after webp", "xmp in webp", "xmp in jpeg", "a segment of somebody"],
)
def test_whatever_else_is_in_the_file_goes(data: bytes) -> None:
    assert MAKER.encode() in data
    found = sanitize_image(data)
    assert MAKER.encode() not in found.data
    assert opened(found.data).size == (40, 20)


@pytest.mark.parametrize("form", ["WEBP", "PNG", "MPO"])
def test_of_several_pictures_the_first_stays(form: str) -> None:
    data = picture(form, save_all=True, append_images=[Image.new("RGB", (40, 20), "blue")])
    found = sanitize_image(data)
    assert getattr(opened(found.data), "n_frames", 1) == 1
    assert sanitize_image(found.data) == found


def test_a_colour_profile_stays() -> None:
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for form in FORMATS:
        found = sanitize_image(picture(form, icc_profile=profile, exif=exif()))
        assert opened(found.data).info["icc_profile"] == profile


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b"hello", "not a JPEG, PNG or WebP"),
        (b"\xff\xd8\xff\xe0", "not a JPEG, PNG or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a JPEG, PNG or WebP"),
        (encode(Image.new("RGB", (4, 4)), "GIF"), "not a JPEG, PNG or WebP"),
        (encode(Image.new("RGB", (4, 4)), "TIFF"), "not a JPEG, PNG or WebP"),
        (bomb(40_000, 40_000), "40000 x 40000 pixels"),
        (bomb(6325, 6325), "at most 40 megapixels"),
        (bomb(100, 100), "broken"),
    ],
)
def test_what_is_no_picture_is_refused(data: bytes, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        sanitize_image(data)


@pytest.mark.parametrize(("form", "mode"), MODES)
def test_a_cut_picture_is_refused(form: str, mode: str) -> None:
    data = encode(Image.effect_noise((40, 20), 90).convert("RGB").convert(mode), form)
    passed = []
    for end in range(1, len(data) - 1):
        try:
            sanitize_image(data[:end])
        except ValueError:
            continue
        passed.append(end)
    assert passed == []


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_picture_passes_or_is_refused_and_nothing_else(form: str) -> None:
    data = picture(form, exif=exif(3))
    for place in range(0, len(data), 3):
        damaged: Any = bytearray(data)
        damaged[place] ^= 0xFF
        try:
            found = sanitize_image(bytes(damaged))
        except ValueError:
            continue
        assert opened(found.data).size == (found.width, found.height)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA", "1"])
def test_every_orientation_becomes_a_turn(orientation: int, mode: str) -> None:
    """Strip by strip, and the same as at once; a picture may be higher than many strips."""
    image = Image.effect_noise((9, 600), 80).convert(mode)
    found = opened(sanitize_image(encode(image, "PNG", exif=exif(orientation))).data)
    assert not found.getexif()
    whole = image.transpose(TRANSPOSITIONS[orientation]) if orientation in TRANSPOSITIONS else image
    assert (found.mode, found.size) == (mode, whole.size)
    assert found.convert("RGBA").tobytes() == whole.convert("RGBA").tobytes()


@pytest.mark.parametrize(
    ("form", "options", "most"),
    [("WEBP", {}, 12), ("JPEG", {"progressive": True, "subsampling": 0}, 20), ("JPEG", {"progressive": True}, 28)],
)
def test_what_takes_more_memory_may_have_fewer_pixels(form: str, options: dict[str, Any], most: int) -> None:
    """They are refused before they are decoded; a baseline JPEG of that size is taken."""
    side = int((most * 1_000_000) ** 0.5) + 200
    image = Image.new("RGB", (side, side))
    with pytest.raises(ValueError, match=f"at most {most} megapixels"):
        sanitize_image(encode(image, form, **options))
    if form == "JPEG":
        assert sanitize_image(encode(image, form)).width == side
