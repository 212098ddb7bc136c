"""Images decoded from streams of bytes by Pillow, which is imported when a stream is decoded."""

import re
import warnings
from functools import partial
from io import BytesIO

import numpy as np

from opcheck.engine.axes import check_size
from opcheck.engine.operators import (
    check_one_of,
    formula_builder,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.errors import NotSupported


def other(stream):
    """The stream with another last pixel, of formats that store the bytes of pixels in order."""
    found = stream.copy()
    if stream[:2].tobytes() in (b"P5", b"P6"):
        found[-1] ^= 1
    return found


OP = operator("ImageDecoder", exact=True, other=other)
_LISTED = "BMP JPEG JPEG2000 TIFF PNG WEBP PPM".split()
#: Compressions of TIFF that lose nothing.
_LOSSLESS = "raw packbits tiff_lzw tiff_adobe_deflate tiff_deflate group3 group4".split()


def opened(stream):
    """The image with its pixels, or None where nothing can be decoded."""
    try:
        from PIL import Image
    except ImportError:
        raise NotSupported("images are decoded by Pillow: pip install 'opcheck[images]'") from None
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(BytesIO(data := stream.tobytes()))
            check_size((*image.size, 3))
            stored = str(image.tile[0][3]) if image.tile else ""
            image.load()
            why = undecided(image, stored, data)
    except (NotSupported, MemoryError):
        raise
    except Exception:  # whatever went wrong in a decoder
        return None
    if why:
        leave_open(why)
    return image


def undecided(image, stored, data):
    """Why the text does not decide about an image of samples `stored` so, or ""."""
    about, is_opaque = image.info, True
    if image.mode in ("RGBA", "LA"):
        is_opaque = image.getchannel("A").getextrema()[0] == 255
    most = re.search(r"\d+", stored) if image.format == "PPM" else None
    whys = {
        "which other formats can be decoded": image.format not in _LISTED,
        "how exactly a lossy format is decoded": (
            image.format in ("JPEG", "JPEG2000")
            or (image.format == "WEBP" and data[12:16] != b"VP8L")
            or (image.format == "TIFF" and about.get("compression") not in _LOSSLESS)
        ),
        "which of several images": getattr(image, "n_frames", 1) > 1,
        "what becomes of an orientation": image.getexif().get(274, 1) != 1,
        "what becomes of a profile of colors": {"gamma", "icc_profile", "chromaticity"} & {*about},
        "what becomes of transparency": "transparency" in about or not is_opaque,
        "how samples are brought to 8 bits": (
            image.mode not in ("1", "L", "P", "RGB", "RGBA", "LA")
            or re.search(";1[0-9]", stored)
            or (most and 255 % (int(most[0]) or 1))
        ),
    }
    return next((why for why, holds in whys.items() if holds), "")


@formula_builder(20, options=["opened"])
def decoder(arranged, encoded_stream, *, pixel_format, opened=opened):
    """The formula from `arranged(image, pixel_format)`, an array of three axes."""
    check_one_of("pixel_format", pixel_format, "RGB", "BGR", "Grayscale")
    if encoded_stream.ndim != 1:
        raise_unspecified("a stream of other than one axis")
    if (image := opened(encoded_stream)) is None:
        leave_open("which axes an empty matrix has")
        return np.zeros((0, 0, 1 if pixel_format == "Grayscale" else 3), np.uint8)
    return np.ascontiguousarray(arranged(image, pixel_format))


@OP.formula(build=decoder)
def pixels(image, pixel_format):
    colors = np.asarray(image.convert("RGB"))
    if pixel_format != "Grayscale":
        return colors[..., :: 1 if pixel_format == "RGB" else -1]
    if (colors != colors[..., :1]).any():
        leave_open("which gray a color is")
    return np.asarray(image.convert("L"))[..., None]


OP.mutant_table(
    {
        "channels_first": (
            "channels came before rows",
            lambda *of: np.moveaxis(pixels(*of), -1, 0),
        ),
        "upside_down": ("rows came from the last to the first", lambda *of: pixels(*of)[::-1]),
        "columns_first": ("columns came before rows", lambda *of: pixels(*of).swapaxes(0, 1)),
        "always_bgr": (
            "blue came first, whatever pixel_format says",
            lambda image, form: pixels(image, "BGR" if form == "RGB" else form),
        ),
        "gray_without_channels": (
            "an image in gray had two axes",
            lambda image, form: (
                pixels(image, form)[..., 0] if form == "Grayscale" else pixels(image, form)
            ),
        ),
        "gray_thrice": (
            "an image in gray had three channels",
            lambda image, form: np.repeat(
                pixels(image, form), 3 if form == "Grayscale" else 1, axis=-1
            ),
        ),
        "gray_files_have_one_channel": (
            "a file without colors had one channel in every format",
            lambda image, form: pixels(image, form)[..., : 1 if image.mode in ("1", "L") else 3],
        ),
        "gray_files_have_no_channels": (
            "a file without colors had two axes",
            lambda image, form: (
                pixels(image, form)[..., 0] if image.mode in ("1", "L") else pixels(image, form)
            ),
        ),
        "palette_as_gray": (
            "the numbers of colors in a palette were the colors",
            lambda image, form: (
                np.repeat(np.asarray(image)[..., None], 1 if form == "Grayscale" else 3, axis=-1)
                if image.mode == "P"
                else pixels(image, form)
            ),
        ),
        "bits_as_numbers": (
            "white was 1 in images of two colors",
            lambda image, form: pixels(image, form) // (255 if image.mode == "1" else 1),
        ),
    },
    build=decoder,
)


for _name in _LISTED:
    _by = partial(
        decoder,
        opened=lambda stream, form=_name: (
            image if (image := opened(stream)) and image.format != form else None
        ),
    )
    OP.mutant(f"{_name} was not supported", name=f"no_{_name.lower()}", build=_by)(pixels)
