import math
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


@pytest.mark.parametrize(
    ("written", "value", "said"),
    [
        # Three digits matter, and five characters suffice.
        (plain_text.digits, 0, "0"),
        (plain_text.digits, 0.00042, "4e-4"),
        (plain_text.digits, 0.001, "0.001"),
        (plain_text.digits, 0.01234, "0.012"),
        (plain_text.digits, 0.12345, "0.123"),
        (plain_text.digits, 0.9994, "0.999"),
        (plain_text.digits, 0.9996, "1.00"),
        (plain_text.digits, 1.0, "1.00"),
        (plain_text.digits, 9.996, "10.0"),
        (plain_text.digits, 12.345, "12.3"),
        (plain_text.digits, 123.45, "123"),
        (plain_text.digits, 1234.5, "1,234"),
        (plain_text.digits, 9999.0, "1e4"),
        (plain_text.digits, 123456.0, "1e5"),
        (plain_text.digits, math.inf, "–"),
        (plain_text.digits, math.nan, "–"),
        # A time has the unit that makes it short.
        (plain_text.seconds, 0.0, "0 ns"),
        (plain_text.seconds, 9.5e-8, "95.0 ns"),
        (plain_text.seconds, 9.996e-7, "1.00 µs"),
        (plain_text.seconds, 1.234e-6, "1.23 µs"),
        (plain_text.seconds, 9.994e-4, "999 µs"),
        (plain_text.seconds, 9.997e-4, "1.00 ms"),
        (plain_text.seconds, 0.0123, "12.3 ms"),
        (plain_text.seconds, 1.0, "1.00 s"),
        (plain_text.seconds, 123.4, "123 s"),
        (plain_text.seconds, 2400, "2,400 s"),
        # Bytes are decimal, as in gigabytes a second.
        (plain_text.size, 0, "0 bytes"),
        (plain_text.size, 1, "1 byte"),
        (plain_text.size, 999, "999 bytes"),
        (plain_text.size, 1000, "1.00 kB"),
        (plain_text.size, 999_600, "1.00 MB"),
        (plain_text.size, 25_731_584, "25.7 MB"),
        (plain_text.size, 17_179_869_184, "17.2 GB"),
        (plain_text.size, 3e12, "3.00 TB"),
        # A share has a digit behind the point below ten percent.
        (plain_text.percent, 0.0, "0.0 %"),
        (plain_text.percent, 0.0123, "1.2 %"),
        (plain_text.percent, 0.0994, "9.9 %"),
        (plain_text.percent, 0.0996, "10 %"),
        (plain_text.percent, 12.3, "1,230 %"),
        (plain_text.percent, math.inf, "–"),
    ],
)
def test_an_amount_is_said_briefly(written, value, said):
    assert written(value) == said


@pytest.mark.parametrize("width", [1, 0, -1])
def test_a_paragraph_without_room_is_folded_after_each_word(width):
    assert plain_text.folded("two words", width) == ["two", "words"]
    assert plain_text.folded("two words", width, "  ") == ["two", "  words"]


def test_a_rate_is_of_gigabytes_a_second():
    assert plain_text.rate(25_731_584, 887e-6) == "29.0"
    assert plain_text.rate(4_000, 9e-3) == "4e-4"
    assert plain_text.rate(4_000, 0.0) == "–"


def test_an_interval_without_bounds_is_none():
    assert plain_text.interval(0.98, 1.013) == "0.980–1.01"
    assert plain_text.interval(0.0, math.inf) == "–"


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("::error::x", "\\::error::x"),
        ("one\n \t::stop-commands::x\ntwo", "one\n \t\\::stop-commands::x\ntwo"),
        ("one\n\u00a0\u3000::error::x", "one\n\u00a0\u3000\\::error::x"),
        ("a ##[set-env name=A]b", "a #\\#[set-env name=A]b"),
        ("##vso[task.setvariable variable=A]b", "#\\#vso[task.setvariable variable=A]b"),
        ("std::vector # :: ## [", "std::vector # :: ## ["),
    ],
)
def test_no_line_is_a_command_of_a_ci_system(text, harmless):
    assert plain_text.without_commands(text) == harmless
    assert plain_text.without_commands(harmless) == harmless
