import math

import pytest

from opcheck.report import plain_text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"),
        (0.00042, "4e-4"),
        (0.001, "0.001"),
        (0.01234, "0.012"),
        (0.12345, "0.123"),
        (0.9994, "0.999"),
        (0.9996, "1.00"),
        (1.0, "1.00"),
        (9.996, "10.0"),
        (12.345, "12.3"),
        (123.45, "123"),
        (1234.5, "1,234"),
        (9999.0, "1e4"),
        (123456.0, "1e5"),
        (math.inf, "–"),
        (math.nan, "–"),
    ],
)
def test_three_digits_matter_and_five_characters_suffice(value, said):
    assert plain_text.digits(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0 ns"),
        (9.5e-8, "95.0 ns"),
        (9.996e-7, "1.00 µs"),
        (1.234e-6, "1.23 µs"),
        (9.994e-4, "999 µs"),
        (9.997e-4, "1.00 ms"),
        (0.0123, "12.3 ms"),
        (1.0, "1.00 s"),
        (123.4, "123 s"),
        (2400, "2,400 s"),
    ],
)
def test_a_time_has_the_unit_that_makes_it_short(value, said):
    assert plain_text.seconds(value) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (999_600, "1.00 MB"),
        (25_731_584, "25.7 MB"),
        (17_179_869_184, "17.2 GB"),
        (3e12, "3.00 TB"),
    ],
)
def test_bytes_are_decimal_as_in_gigabytes_a_second(count, said):
    assert plain_text.size(count) == said


def test_a_rate_is_of_gigabytes_a_second():
    assert plain_text.rate(25_731_584, 887e-6) == "29.0"
    assert plain_text.rate(4_000, 9e-3) == "4e-4"
    assert plain_text.rate(4_000, 0.0) == "–"


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "0.0 %"), (0.0123, "1.2 %"), (0.0994, "9.9 %"), (0.0996, "10 %"), (12.3, "1,230 %")],
)
def test_a_share_has_a_digit_behind_the_point_below_ten_percent(share, said):
    assert plain_text.percent(share) == said
    assert plain_text.percent(math.inf) == "–"


def test_an_interval_without_bounds_is_none():
    assert plain_text.interval(0.98, 1.013) == "0.980–1.01"
    assert plain_text.interval(0.0, math.inf) == "–"


@pytest.mark.parametrize(
    ("share", "drawn", "plain"),
    [
        (0.0, "▏", "#"),
        (0.03, "▎", "#"),
        (0.25, "██", "##"),
        (0.3, "██▍", "##"),
        (0.5, "████", "####"),
        (0.99, "███████▉", "########"),
        (1.0, "████████", "########"),
        (1.5, "████████", "########"),
    ],
)
def test_a_bar_is_drawn_to_an_eighth_of_a_cell(share, drawn, plain):
    assert plain_text.bar(share, 8, ascii_only=False) == drawn
    assert plain_text.bar(share, 8, ascii_only=True) == plain
