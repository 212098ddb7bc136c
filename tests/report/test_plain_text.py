import unicodedata

import pytest

from opcheck.report import plain_text


def test_no_character_that_controls_or_hides_survives():
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") and character not in "\n\t":
            assert plain_text.clean(character) == "�", hex(code)
    for character in "\u202e\u2066\u200b\u200f\ufeff\u00ad\U000e0041":
        assert plain_text.clean(character) == "�"


@pytest.mark.parametrize("text", ["größte 最大値 → “±∞” …", "a\nb\tc", "[red]not markup[/]", "😀"])
def test_everything_else_does(text):
    assert plain_text.clean(text) == text


def test_windows_line_ends_are_line_ends():
    assert plain_text.clean("a\r\nb\rc") == "a\nb�c"


def test_brief_text_is_one_short_line():
    assert plain_text.brief("  two\n\n lines\t") == "two lines"
    assert plain_text.brief("x" * 200) == "x" * 200
    assert len(plain_text.brief("x" * 201)) == 200
    assert plain_text.brief("x" * 10_000_000).endswith("x …")


def test_a_block_has_at_most_twenty_lines_and_says_so():
    assert plain_text.block("\n".join("x" * 20)) == "\n".join("x" * 20)
    assert plain_text.block("\n".join("x" * 21)).splitlines()[-1] == "… and 1 more line"


def test_of_what_was_printed_the_last_twenty_lines_are_shown():
    lines = [f"line {number}" for number in range(30)]
    assert plain_text.ending("\n".join(lines[:20])) == "\n".join(lines[:20])
    told = plain_text.ending("\n" + "\n".join(lines) + "\n\n").splitlines()
    assert told == ["… 11 lines before", *lines[11:]]
    # So nothing is left for a report to cut, least of all the end.
    assert len(told) == 20
    assert plain_text.block("\n".join(told)).splitlines() == told
    assert plain_text.ending("  indented\r\n") == "  indented"
    assert plain_text.ending("\x1b[2J") == "�[2J"


@pytest.mark.parametrize(("count", "said"), [(0, "0 cases"), (1, "1 case"), (1031, "1,031 cases")])
def test_counts_agree_with_their_nouns(count, said):
    assert plain_text.plural(count, "case") == said


@pytest.mark.parametrize(("place", "said"), [((), "[]"), ((3,), "[3]"), ((0, 12), "[0, 12]")])
def test_an_index_is_a_list(place, said):
    assert plain_text.index(place) == said
