"""Pictures: what they show is what the stored picture says, and they take the page's colours."""

import base64
import io
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as xml

import numpy as np
import pytest
from hypothesis import given, strategies as st
from matplotlib.image import imread

from opcheck.model import Picture
from opcheck.report import html
from opcheck.report.html.run_page import LEVELS, Plots
from tests.examples import examples
from tests.report.html.many import pictured

STYLE = (Path(html.__file__).parent / "templates" / "style.css").read_text(encoding="utf-8")
#: The light and the dark colour of each variable.
PALETTE = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", STYLE
    )
}
TONES = sorted(
    name.removesuffix("-bg") for name in PALETTE if name.endswith("-bg") and name != "--bg"
)
both = pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """As https://www.w3.org/TR/WCAG22/#dfn-relative-luminance has it."""
    parts = [value / 255 for value in bytes.fromhex(colour.removeprefix("#"))]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_is_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


TEXTS = ("--ink", "--soft", "--link", "--red", "--pass")
#: Of plots, and of what has the focus.
LINES = ("--accent", "--wrong")


@both
@pytest.mark.parametrize(
    ("colour", "behind", "least"),
    [
        *((text, page, 4.5) for text in TEXTS for page in ("--bg", "--panel")),
        *((line, page, 3) for line in LINES for page in ("--bg", "--panel")),
        *((tone, f"{tone}-bg", 4.5) for tone in TONES),
    ],
)
def test_texts_lines_and_verdicts_stand_out_from_what_is_behind_them(colour, behind, least, scheme):
    assert contrast(PALETTE[colour][scheme], PALETTE[behind][scheme]) >= least


def test_each_tone_has_its_colours():
    assert len(TONES) == 7


SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)


def drawn(*pictures):
    """The drawings of each picture, in the order in which a page shows them."""
    made = Plots()
    return [[drawing.inside for _, drawing in made.of(one)] for one in pictures]


def elements(inside):
    return list(xml.fromstring(inside))


def texts(inside):
    return [one.text for one in elements(inside) if one.tag == "text"]


def map_of(*rows, shape=None):
    """A picture that has a map only."""
    return Picture((len(rows), len(rows[0])) if shape is None else shape, cells=rows)


def test_a_map_has_a_dot_of_its_level_s_colour_for_each_cell():
    rows = [".aznABC", "DJKYZ.z"]
    [[inside]] = drawn(map_of(*rows))
    (image,) = (one for one in elements(inside) if one.tag == "image")
    kind, data = image.get("href").split(",")
    assert kind == "data:image/png;base64"
    dots = (imread(io.BytesIO(base64.b64decode(data))) * 255).round().astype(int)
    assert dots.shape[:2] == (2, 7)
    for row, letters in zip(dots, rows, strict=True):
        for dot, letter in zip(row, letters, strict=True):
            (colour,) = (colour for some, colour, _ in LEVELS if letter in some)
            assert list(dot) == list(bytes.fromhex(colour.removeprefix("#")))


def test_a_map_is_drawn_with_the_first_row_above():
    [[inside]] = drawn(map_of("Z", "."))
    (image,) = (one for one in elements(inside) if one.tag == "image")
    dots = imread(io.BytesIO(base64.b64decode(image.get("href").split(",")[1])))
    # What is worse is darker.
    assert dots[0, 0, :3].sum() < dots[1, 0, :3].sum()


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((5,), {"axis 0", "0", "4"}),
        ((4, 5), {"axis 0", "axis 1", "0", "3", "4"}),
        ((2, 2, 5), {"axes 0–1", "axis 2", "0", "3", "4"}),
        ((1, 5), {"axis 1", "0", "4"}),
        ((), set()),
    ],
)
def test_a_map_names_its_axes_and_their_ends(shape, said):
    across, down = (shape[-1] if shape else 1), int(np.prod(shape[:-1]))
    [[inside]] = drawn(map_of(*["z" * across] * down, shape=shape))
    assert set(texts(inside)) == said


def test_what_was_drawn_before_leaves_nothing_behind():
    large, small = pictured(rows=20, columns=30), map_of("z", shape=(1,))
    alone = drawn(small)
    assert drawn(large, small)[1:] == alone
    assert drawn(small, large, small)[2:] == alone


def test_a_histogram_has_a_bar_a_power_of_two_and_says_how_many():
    [[inside]] = drawn(Picture((99,), ((0, 7), (1, 12), (3, 1_000), (30, 5)), unordered=2))
    said = texts(inside)
    assert {"7", "12", "1,000", "5", "2"} <= set(said)
    assert {"0", "2²⁹", "NaN", "ULP off"} <= set(said)
    heights = [float(one.get("height")) for one in elements(inside) if one.tag == "rect"]
    # As their logarithms are ordered.
    assert [sorted(heights).index(height) for height in heights] == [2, 3, 4, 1, 0]


def test_what_a_picture_says_in_words_is_what_it_shows(wording):
    picture = Picture((2, 2), ((0, 2), (3, 1)), 1, ("..", "bZ"))
    assert [drawing.about for _, drawing in Plots().of(picture)] == [
        wording,
        wording,
    ]


@examples(40)
@given(st.data(), SHAPES)
def test_every_picture_can_be_drawn(data, shape):
    across, down = shape[-1], min(int(np.prod(shape[:-1])), 64)
    row = st.text("".join(letters for letters, _, _ in LEVELS), min_size=across, max_size=across)
    rows = data.draw(st.lists(row, min_size=down, max_size=down))
    # Files of others may have counts of 0, and them in any order.
    counts = st.lists(st.tuples(st.integers(0, 64), st.integers(0, 1 << 64)), max_size=65)
    steps = tuple(data.draw(counts))
    picture = Picture(shape, steps, data.draw(st.integers(0, 3)), tuple(rows))
    [made] = drawn(picture)
    assert len(made) == 1 + bool(picture.ulps or picture.unordered)
    for inside in made:
        assert {one.tag for one in elements(inside)} <= {"line", "rect", "text", "image"}


def test_levels_darken():
    greys = [luminance(colour) for _, colour, _ in LEVELS]
    assert all(light > 1.2 * dark for light, dark in pairwise(greys))


def test_drawings_have_no_names_and_no_colours_but_the_page_s():
    for inside in drawn(pictured())[0]:
        assert not re.search(r'\bid=|url\(|href="#', inside)
        assert not re.search(r"(?:fill|stroke)[:=]\"?#", inside)
        assert {*re.findall(r"var\((.*?)\)", inside)} <= {*PALETTE}
