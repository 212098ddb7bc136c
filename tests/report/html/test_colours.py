"""The page's colours: texts and lines stand out from what is behind them, as WCAG's AA asks."""

import re
from pathlib import Path

import pytest

from opcheck.report import html
from opcheck.report.html.plots import COLOURS

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
SERIES = sorted(name for name in COLOURS if name.startswith("--series"))
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


@both
@pytest.mark.parametrize("text", ["--ink", "--soft", "--link", "--red", "--pass"])
def test_texts_stand_out_from_the_page_and_from_what_is_open(text, scheme):
    for behind in ("--bg", "--panel"):
        assert contrast(PALETTE[text][scheme], PALETTE[behind][scheme]) >= 4.5


@both
@pytest.mark.parametrize("tone", TONES)
def test_a_verdict_stands_out_from_its_tone(tone, scheme):
    assert contrast(PALETTE[tone][scheme], PALETTE[f"{tone}-bg"][scheme]) >= 4.5


@both
@pytest.mark.parametrize("line", [*SERIES, "--accent", "--wrong"])
def test_lines_of_plots_and_focus_stand_out(line, scheme):
    for behind in ("--bg", "--panel"):
        assert contrast(PALETTE[line][scheme], PALETTE[behind][scheme]) >= 3


def test_every_colour_of_a_drawing_is_the_page_s():
    assert set(COLOURS) <= set(PALETTE)
    assert len(TONES) == 7
