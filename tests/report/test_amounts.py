import math

import pytest

from opcheck.report import words


@pytest.mark.parametrize(
    ("written", "value", "said"),
    [
        # Three digits matter, and five characters suffice.
        (words.digits, 0, "0"),
        (words.digits, 0.00042, "4e-4"),
        (words.digits, 0.001, "0.001"),
        (words.digits, 0.01234, "0.012"),
        (words.digits, 0.12345, "0.123"),
        (words.digits, 0.9994, "0.999"),
        (words.digits, 0.9996, "1.00"),
        (words.digits, 1.0, "1.00"),
        (words.digits, 9.996, "10.0"),
        (words.digits, 12.345, "12.3"),
        (words.digits, 123.45, "123"),
        (words.digits, 1234.5, "1,234"),
        (words.digits, 9999.0, "1e4"),
        (words.digits, 123456.0, "1e5"),
        (words.digits, math.inf, "–"),
        (words.digits, math.nan, "–"),
        # A time has the unit that makes it short.
        (words.seconds, 0.0, "0 ns"),
        (words.seconds, 9.5e-8, "95.0 ns"),
        (words.seconds, 9.996e-7, "1.00 µs"),
        (words.seconds, 1.234e-6, "1.23 µs"),
        (words.seconds, 9.994e-4, "999 µs"),
        (words.seconds, 9.997e-4, "1.00 ms"),
        (words.seconds, 0.0123, "12.3 ms"),
        (words.seconds, 1.0, "1.00 s"),
        (words.seconds, 123.4, "123 s"),
        (words.seconds, 2400, "2,400 s"),
        # Bytes are decimal, as in gigabytes a second.
        (words.size, 0, "0 bytes"),
        (words.size, 1, "1 byte"),
        (words.size, 999, "999 bytes"),
        (words.size, 1000, "1.00 kB"),
        (words.size, 999_600, "1.00 MB"),
        (words.size, 25_731_584, "25.7 MB"),
        (words.size, 17_179_869_184, "17.2 GB"),
        (words.size, 3e12, "3.00 TB"),
        # A share has a digit behind the point below ten percent.
        (words.percent, 0.0, "0.0 %"),
        (words.percent, 0.0123, "1.2 %"),
        (words.percent, 0.0994, "9.9 %"),
        (words.percent, 0.0996, "10 %"),
        (words.percent, 12.3, "1,230 %"),
        (words.percent, math.inf, "–"),
    ],
)
def test_an_amount_is_said_briefly(written, value, said):
    assert written(value) == said


def test_a_rate_is_of_gigabytes_a_second():
    assert words.rate(25_731_584, 887e-6) == "29.0"
    assert words.rate(4_000, 9e-3) == "4e-4"
    assert words.rate(4_000, 0.0) == "–"


def test_an_interval_without_bounds_is_none():
    assert words.interval(0.98, 1.013) == "0.980–1.01"
    assert words.interval(0.0, math.inf) == "–"


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
    assert words.bar(share, 8, ascii_only=False) == drawn
    assert words.bar(share, 8, ascii_only=True) == plain
