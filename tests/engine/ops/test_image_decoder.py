"""ImageDecoder: decoders of three formats in plain Python, and what the text leaves open.

Streams of the shipped cases were put together by hand, byte by byte; ONNX's node tests of all
seven formats are asked in test_node_tests.py.
"""

import builtins
import re
import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from opcheck.engine.operators import judging
from opcheck.engine.ops.image_decoder import with_another_pixel
from opcheck.errors import InvalidNode, NotSupported
from opcheck.execution.expected import question
from opcheck.model import OpVersion, Values
from opcheck.suite import load, materialize
from tests.computed import by_reading, evaluate

OP = OpVersion("", "ImageDecoder", 20)
CASES = [case for case in load(ops=["ImageDecoder"]) if isinstance(case.expect, Values)]
COLORS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


def decoded(stream, form="RGB"):
    with judging():
        [image] = evaluate(OP, [np.frombuffer(stream, np.uint8)], {"pixel_format": form})
    return image


def encoded(pixels, form, mode=None, **options):
    file = BytesIO()
    Image.fromarray(pixels, mode).save(file, form, **options)
    return file.getvalue()


def of_pnm(data):
    found = re.fullmatch(rb"P[56]\s(\d+)\s(\d+)\s255\s(.*)", data, re.DOTALL)
    return found and np.frombuffer(found[3], np.uint8).reshape(int(found[2]), int(found[1]), -1)


def of_bmp(data):
    start, width, height, bits = struct.unpack("<10xI4xii2xH", data[:30])
    if bits != 24:
        return None
    step = (3 * width + 3) // 4 * 4
    rows = [data[at : at + 3 * width] for at in range(start, start + step * abs(height), step)]
    pixels = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, width, 3)[..., ::-1]
    return pixels[::-1] if height > 0 else pixels


def of_png(data):
    width, height, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    at = data.index(b"IDAT")
    body = zlib.decompress(data[at + 4 : at + 4 + int.from_bytes(data[at - 4 : at])])
    if bits != 8 or color not in (0, 2) or interlaced or any(body[:: len(body) // height]):
        return None
    lines = np.frombuffer(body, np.uint8).reshape(height, -1)
    return lines[:, 1:].reshape(height, width, -1)


def test_the_shipped_answers_are_those_of_decoders_in_plain_python():
    asked = 0
    for case in CASES:
        data = materialize(case.inputs[0]).tobytes()
        decoders = {b"P": of_pnm, b"B": of_bmp, b"\x89": of_png}
        found = decoders.get(data[:1], lambda data: None)(data)
        if found is not None and case.attrs.get("pixel_format") != "Grayscale":
            step = -1 if case.attrs.get("pixel_format") == "BGR" else 1
            pixels = np.broadcast_to(found, (*found.shape[:2], 3))[..., ::step]
            assert pixels.tolist() == materialize(case.expect.outputs[0]).tolist(), case.id
            asked += 1
    assert asked > 12


@pytest.mark.parametrize("form", ["BMP", "PNG", "PPM", "TIFF"])
def test_many_pixels_come_as_they_were_stored(form):
    pixels = np.random.default_rng(1).integers(0, 256, (37, 53, 3), np.uint8)
    data = encoded(pixels, form)
    assert decoded(data).tolist() == pixels.tolist()
    assert decoded(data, "BGR").tolist() == pixels[..., ::-1].tolist()


ALPHA = np.dstack([COLORS, np.full((2, 4), 9, np.uint8)])
OPEN = {
    "how exactly a lossy format": encoded(COLORS, "JPEG"),
    "how exactly a lossy": encoded(COLORS, "WEBP", quality=50),
    "how exactly": encoded(COLORS, "TIFF", compression="jpeg"),
    "which other formats": encoded(COLORS, "GIF"),
    "what becomes of transparency": encoded(ALPHA, "PNG"),
    "what becomes of a profile of colors": encoded(COLORS, "PNG", icc_profile=b"x"),
    "how samples are brought to 8 bits": encoded(np.full((2, 2), 300, np.uint16), "PNG"),
    "how samples are": b"P2 1 1 7 3",
}


@pytest.mark.parametrize("why", OPEN)
def test_what_the_text_leaves_open_has_no_decided_answer(why):
    with pytest.raises(NotSupported, match=why):
        decoded(OPEN[why])


def test_which_gray_a_color_is_has_none_either(wording):
    with pytest.raises(NotSupported) as raised:
        decoded(encoded(COLORS, "BMP"), "Grayscale")
    assert raised.value == wording


@pytest.mark.parametrize(("form", "channels"), [("RGB", 3), ("Grayscale", 1)])
def test_what_cannot_be_decoded_is_an_empty_matrix_of_some_shape(form, channels):
    for stream in (b"P6 2 2 255 x", b"\x89PNG"):
        data = np.frombuffer(stream, np.uint8)
        with judging():
            answers = by_reading(OP, [data], {"pixel_format": form})
        assert {name: image.shape for name, (image,) in answers.items()} == {
            "no_pixels": (0, 0, channels),
            "three_zeros": (0, 0, 0),
            "no_rows_or_columns": (0, 0),
            "vector": (0,),
        }


def test_another_pixel_format_is_refused():
    with pytest.raises(InvalidNode, match="allowed: RGB, BGR, Grayscale"):
        decoded(encoded(COLORS, "BMP"), "rgb")


def test_a_second_run_has_another_pixel_where_the_stream_can_be_changed():
    [case] = [one for one in load(ops=["ImageDecoder"]) if one.name == "more_than_65536"]
    asked = question(case)
    differ = np.flatnonzero(asked.inputs[0] != asked.second[0])
    assert differ.tolist() == [asked.inputs[0].size - 1]


def test_a_stream_that_is_not_a_row_of_bytes_has_no_other_pixel():
    scalar = np.array(ord("P"), np.uint8)
    assert with_another_pixel(scalar) == scalar


def test_without_pillow_the_engine_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *more):
        if name == "PIL":
            raise ImportError
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(NotSupported, match=r"pip install 'opcheck\[images\]'"):
        decoded(b"P6 1 1 255 abc")
