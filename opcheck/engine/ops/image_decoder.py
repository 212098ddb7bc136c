"""ImageDecoder, all versions: images decoded from streams of bytes.

Pillow decodes them; it is imported when a stream is. Seven formats are named: BMP, JPEG, JPEG2000,
TIFF, PNG, WebP, and the portable formats, which Pillow calls PPM. "Decoded images follow a
channel-last layout: (Height, Width, Channels)."

The engine decides about streams that lose nothing, of opaque images whose samples have 8 bits or
are multiples of theirs. The text leaves open what becomes of all else, in more ways than can be
listed.

The parts of the file: decoding; the formula; its mutants.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from opcheck.engine.axes import check_size
from opcheck.engine.operators import (
    FormulaBuilder,
    check_one_of,
    formulas_of_versions,
    leave_open,
    operator,
    raise_unspecified,
)
from opcheck.engine.readings import Ruling
from opcheck.errors import NotSupported
from opcheck.numbers import Array

if TYPE_CHECKING:
    from PIL.Image import Image

EMPTY_MATRIX = Ruling(
    "axes-of-an-empty-matrix",
    "What cannot be decoded gives an empty matrix, of which the text does not state the axes.",
    ("no_pixels", "three_zeros", "no_rows_or_columns", "vector"),
)
#: Pillow's names of the formats that the text lists.
FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")
#: Compressions of TIFF that lose nothing.
LOSSLESS = ("raw", "packbits", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "group3", "group4")
#: Pillow's modes of images whose samples have 8 bits, or are brought to that by a factor.
MODES_OF_8_BITS = ("1", "L", "P", "RGB", "RGBA", "LA")
#: What Pillow calls the properties of a profile of colors.
PROFILES = ("gamma", "icc_profile", "chromaticity")
#: The number of an orientation among the tags of EXIF.
ORIENTATION = 274


def with_another_pixel(stream: Array) -> Array:
    """Return a stream with another last pixel, if its format stores pixels in order: PGM and PPM.

    Others, and what is not a row of bytes, come back unchanged. The result is a copy.
    """
    changed = stream.copy()
    if stream.ndim == 1 and stream[:2].tobytes() in (b"P5", b"P6"):
        changed[-1] ^= 1
    return changed


OP = operator("ImageDecoder", exact=True, other=with_another_pixel)


# ── decoding ──────────────────────────────────────────────────────────────────────────────────


def opened(stream: Array) -> Image | None:
    """Return the image of a stream of bytes with its pixels, or None if it cannot be decoded.

    Raises NotSupported without Pillow, and, while judging, where the text does not decide the
    pixels: other than the named formats, lossy ones, several images, an orientation, profiles,
    transparency, and other samples than of 8 bits. Raises MemoryError for an image of more than
    2^28 samples in three channels.
    """
    try:
        from PIL import Image
    except ImportError:
        raise NotSupported("images are decoded by Pillow: pip install 'opcheck[images]'") from None
    data = stream.tobytes()
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(BytesIO(data))
            check_size((*image.size, 3))
            # Loading the pixels forgets how they are stored.
            stored = str(image.tile[0][3]) if image.tile else ""
            image.load()
            reasons = reasons_to_decline(image, stored, data)
    except (NotSupported, MemoryError):
        raise
    except Exception:  # "If it can't decode for any reason", whatever a decoder raises.
        return None
    for reason, holds in reasons.items():
        if holds:
            leave_open(reason)
    return image


def reasons_to_decline(image: Image, stored: str, data: bytes) -> Mapping[str, bool]:
    """Return what the text may leave open about an image, and True where it does so about this one.

    stored: how Pillow describes the samples of the stream, `data`.
    """
    return {
        "which other formats can be decoded": image.format not in FORMATS,
        "how exactly a lossy format is decoded": is_lossy(image, data),
        "which of several images": getattr(image, "n_frames", 1) > 1,
        "what becomes of an orientation": image.getexif().get(ORIENTATION, 1) != 1,
        "what becomes of a profile of colors": any(name in image.info for name in PROFILES),
        "what becomes of transparency": is_transparent(image),
        "how samples are brought to 8 bits": not has_8_bits(image, stored),
    }


def is_lossy(image: Image, data: bytes) -> bool:
    """Return True if the format, or the compression that a stream has, may lose something.

    That is JPEG, JPEG2000, WebP but for VP8L, and TIFF with another compression than LZW, deflate,
    packbits, group 3 and group 4, which lose nothing, or none.
    """
    if image.format == "WEBP":
        is_lossless_webp = data[12:16] == b"VP8L"
        return not is_lossless_webp
    if image.format == "TIFF":
        return image.info.get("compression") not in LOSSLESS
    return image.format in ("JPEG", "JPEG2000")


def is_transparent(image: Image) -> bool:
    """Return True if some pixel is not opaque, or if the file names a transparent color.

    That color counts even if no pixel has it.
    """
    if "transparency" in image.info:
        return True
    if image.mode not in ("RGBA", "LA"):
        return False
    # Pillow's types allow for bands that are tuples.
    least: Any = image.getchannel("A").getextrema()[0]
    return bool(least != 255)


def has_8_bits(image: Image, stored: str) -> bool:
    """Return True if samples have 8 bits, or if a whole factor brings the largest to 255.

    Portable formats state the largest sample, which is the first number in `stored`. The other
    formats state 10 bits and more behind a semicolon.
    """
    if image.mode not in MODES_OF_8_BITS or re.search(";1[0-9]", stored):
        return False
    largest = re.search(r"\d+", stored) if image.format == "PPM" else None
    return largest is None or 255 % (int(largest[0]) or 1) == 0


# ── the formula ───────────────────────────────────────────────────────────────────────────────

#: From an image and pixel_format, its elements: [Height, Width, Channels].
Arranged: TypeAlias = "Callable[[Image, str], Array]"


@formulas_of_versions(20, options=["opened"])
def image_decoder(
    arranged: Arranged,
    encoded_stream: Array,
    *,
    pixel_format: str,
    opened: Callable[[Array], Image | None] = opened,
) -> Array:
    """Return the image of a stream of bytes as `arranged` has it: uint8, by default channel-last.

    encoded_stream: bytes, of one axis. A stream that cannot be decoded, such as an empty one, gives
    an "empty matrix" of shape (0, 0, channels), (0, 0, 0), (0, 0) or (0): EMPTY_MATRIX. `opened`
    decodes.

    Raises InvalidNode for a pixel_format other than RGB, BGR and Grayscale; NotSupported for a
    stream of other than one axis, and without Pillow. Raises it while judging also where the text
    does not decide the pixels: other than the named formats, lossy ones, several images, an
    orientation, profiles, transparency, other samples than of 8 bits, and the gray of colors.
    Raises MemoryError for an image of more than 2^28 samples.
    """
    check_one_of("pixel_format", pixel_format, "RGB", "BGR", "Grayscale")
    if encoded_stream.ndim != 1:
        raise_unspecified("a stream of other than one axis")
    image = opened(encoded_stream)
    if image is None:
        return np.zeros(shape_of_an_empty_matrix(pixel_format), np.uint8)
    return np.ascontiguousarray(arranged(image, pixel_format))


def shape_of_an_empty_matrix(pixel_format: str) -> tuple[int, ...]:
    """Return the shape of an image that cannot be decoded, as EMPTY_MATRIX reads it.

    That is (0, 0, channels), where Grayscale has one channel and other formats three, or (0, 0, 0),
    (0, 0) or (0).
    """
    channels = 1 if pixel_format == "Grayscale" else 3
    shapes = {
        "no_pixels": (0, 0, channels),
        "three_zeros": (0, 0, 0),
        "no_rows_or_columns": (0, 0),
        "vector": (0,),
    }
    return shapes[EMPTY_MATRIX.reading()]


def pixels(image: Image, pixel_format: str) -> Array:
    """Return the rows of pixels of an image: [Height, Width, 3], of Grayscale [Height, Width, 1].

    It may be a view. Raises NotSupported, while judging, for an image with colors in Grayscale: the
    text does not define which gray a color is, and a backend takes Pillow's.
    """
    colors = np.asarray(image.convert("RGB"))
    if pixel_format == "RGB":
        return colors
    if pixel_format == "BGR":
        return colors[..., ::-1]
    is_gray = (colors == colors[..., :1]).all()
    if not is_gray:
        leave_open("which gray a color is")
    return np.asarray(image.convert("L"))[..., np.newaxis]


OP.formula(build=image_decoder)(pixels)


# ── mutants ───────────────────────────────────────────────────────────────────────────────────


def channels_first(image: Image, pixel_format: str) -> Array:
    """Mutant: channels come before rows.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    return np.moveaxis(pixels(image, pixel_format), -1, 0)


def upside_down(image: Image, pixel_format: str) -> Array:
    """Mutant: rows come from the last to the first.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    return pixels(image, pixel_format)[::-1]


def columns_first(image: Image, pixel_format: str) -> Array:
    """Mutant: columns come before rows.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    return pixels(image, pixel_format).swapaxes(0, 1)


def always_bgr(image: Image, pixel_format: str) -> Array:
    """Mutant: blue comes first in colors, whatever pixel_format is.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    return pixels(image, "BGR" if pixel_format == "RGB" else pixel_format)


def gray_without_channels(image: Image, pixel_format: str) -> Array:
    """Mutant: an image in gray has two axes.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    decoded = pixels(image, pixel_format)
    return decoded[..., 0] if pixel_format == "Grayscale" else decoded


def gray_thrice(image: Image, pixel_format: str) -> Array:
    """Mutant: an image in gray has three channels.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    decoded = pixels(image, pixel_format)
    return np.repeat(decoded, 3, axis=-1) if pixel_format == "Grayscale" else decoded


def is_file_without_colors(image: Image) -> bool:
    """Return True if the samples of a file are gray, or black and white."""
    return image.mode in ("1", "L")


def gray_files_have_one_channel(image: Image, pixel_format: str) -> Array:
    """Mutant: a file without colors has one channel in every format of pixels.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    decoded = pixels(image, pixel_format)
    return decoded[..., :1] if is_file_without_colors(image) else decoded


def gray_files_have_no_channels(image: Image, pixel_format: str) -> Array:
    """Mutant: a file without colors has two axes.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    decoded = pixels(image, pixel_format)
    return decoded[..., 0] if is_file_without_colors(image) else decoded


def palette_as_gray(image: Image, pixel_format: str) -> Array:
    """Mutant: the numbers of colors in a palette are the colors.

    Raises NotSupported, while judging, for colors in Grayscale without a palette.
    """
    if image.mode != "P":
        return pixels(image, pixel_format)
    numbers = np.asarray(image)[..., np.newaxis]
    return numbers if pixel_format == "Grayscale" else np.repeat(numbers, 3, axis=-1)


def bits_as_numbers(image: Image, pixel_format: str) -> Array:
    """Mutant: white is 1 in images of two colors.

    Raises NotSupported, while judging, for an image with colors in Grayscale.
    """
    decoded = pixels(image, pixel_format)
    return decoded // 255 if image.mode == "1" else decoded


OP.mutant_table(
    {
        "channels_first": ("channels came before rows", channels_first),
        "upside_down": ("rows came from the last to the first", upside_down),
        "columns_first": ("columns came before rows", columns_first),
        "always_bgr": ("blue came first, whatever pixel_format says", always_bgr),
        "gray_without_channels": ("an image in gray had two axes", gray_without_channels),
        "gray_thrice": ("an image in gray had three channels", gray_thrice),
        "gray_files_have_one_channel": (
            "a file without colors had one channel in every format",
            gray_files_have_one_channel,
        ),
        "gray_files_have_no_channels": (
            "a file without colors had two axes",
            gray_files_have_no_channels,
        ),
        "palette_as_gray": (
            "the numbers of colors in a palette were the colors",
            palette_as_gray,
        ),
        "bits_as_numbers": ("white was 1 in images of two colors", bits_as_numbers),
    },
    build=image_decoder,
)


def opened_unless_of(excluded: str, stream: Array) -> Image | None:
    """Mutants: return the image of a stream; None if it is of this format or cannot be decoded.

    Raises NotSupported without Pillow, and, while judging, for images whose pixels the text does
    not decide: see `opened`. Raises MemoryError for more than 2^28 samples in three channels.
    """
    image = opened(stream)
    return None if image is None or image.format == excluded else image


def without_format(excluded: str) -> FormulaBuilder:
    """Return what makes the formula of a decoder that has all formats but this one."""
    return partial(image_decoder, opened=partial(opened_unless_of, excluded))


for _format in FORMATS:
    OP.mutant(
        f"{_format} was not supported",
        name=f"no_{_format.lower()}",
        build=without_format(_format),
    )(pixels)
