"""Tables on narrow and wide consoles, on light and dark ones, and without Unicode."""

import pytest
from rich.color import Color
from rich.style import Style

from opcheck.report import style
from tests.report.html.test_colours import contrast
from tests.report.made import Page

GROUPS = [
    ("DML_ACTIVATION_HARDMAX1-1", [("onnxruntime 1.31.1", "7"), ("reference 1.23.2", "12")]),
    ("Hardmax-1", [("onnxruntime 1.31.1", "123")]),
]


COLUMNS = ["operator", "backend", style.Numbers("pass")]


def shown(width, groups=GROUPS, **options):
    page = Page(width)
    options = {"above": 0} | options
    table = style.grouped(page.console, COLUMNS, groups, **options)
    style.put(page.console, table)
    return page.lines


def test_where_there_is_room_names_stand_in_a_column():
    assert shown(80) == [
        "operator                   backend             pass",
        "───────────────────────────────────────────────────",
        "DML_ACTIVATION_HARDMAX1-1  onnxruntime 1.31.1     7",
        "                           reference 1.23.2      12",
        "Hardmax-1                  onnxruntime 1.31.1   123",
    ]


def test_where_there_is_none_they_stand_above():
    assert shown(40) == [
        "backend                    pass",
        "───────────────────────────────",
        "DML_ACTIVATION_HARDMAX1-1",
        "  onnxruntime 1.31.1          7",
        "  reference 1.23.2           12",
        "Hardmax-1",
        "  onnxruntime 1.31.1        123",
    ]


def test_groups_stand_apart_if_there_is_one_of_several_rows():
    assert "" in shown(80, apart=True)
    assert "" not in shown(80, [(name, rows[:1]) for name, rows in GROUPS], apart=True)


def test_numbers_are_never_cut():
    assert {"7", "12", "123"} <= {line.split()[-1] for line in shown(5)}


# ── colours ───────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", sorted({*style.COLOURS.values(), "bright_black", "dim"}))
@pytest.mark.parametrize("paper", ["#000000", "#ffffff"], ids=["on black", "on white"])
def test_every_colour_is_readable(name, paper):
    colour = style.THEME.styles[name].color
    assert isinstance(colour, Color)
    assert contrast(colour.get_truecolor().hex, paper) > 3.0


def test_bold_is_of_the_same_colour():
    for name, bold in style.THEME.styles.items():
        if name.startswith("bold "):
            assert bold == Style(bold=True) + style.THEME.styles[name.removeprefix("bold ")]
