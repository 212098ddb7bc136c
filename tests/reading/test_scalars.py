import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.reading.reader import NUMBER_LENGTH, BadScalar, resolve, tagged


@pytest.mark.parametrize("word", ["", "~", "null", "Null", "NULL"])
def test_these_words_are_null(word: str) -> None:
    assert resolve(word) is None


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("False", False),
        ("FALSE", False),
    ],
)
def test_these_words_are_truth_values(word: str, want: bool) -> None:
    assert resolve(word) is want


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("0", 0),
        ("12", 12),
        ("012", 12),
        ("-7", -7),
        ("+7", 7),
        ("+0", 0),
        ("0o17", 15),
        ("0x1F", 31),
        ("9" * 400, 10**400 - 1),
    ],
)
def test_these_words_are_integers(word: str, want: int) -> None:
    assert resolve(word) == want
    assert type(resolve(word)) is int


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("1e-3", 0.001),
        ("1E+3", 1000.0),
        ("3.4e38", 3.4e38),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5e1", -5.0),
        ("+0.0", 0.0),
        ("-0.0", -0.0),
        ("01.5", 1.5),
        ("5e-324", 5e-324),
        (".inf", math.inf),
        ("+.Inf", math.inf),
        ("-.INF", -math.inf),
        (".nan", math.nan),
        (".NaN", math.nan),
    ],
)
def test_these_words_are_floats(word: str, want: float) -> None:
    value = resolve(word)
    assert type(value) is float
    assert repr(value) == repr(want)


yaml_1_1 = ["on", "off", "yes", "no", "y", "1:30", "1_000", "0b11", "2001-01-01", "=", "<<"]
near_words = ["tRUE", "nULL", "inf", "-inf", "nan", "Infinity", "-.nan", "13+", "1 2", "1\n"]
near_numbers = ["0o8", "0xg", "-0x1", "+0o7", "1e", ".", "-", "+", "1.2.3", "--1", ".e5", "\u0663"]


@pytest.mark.parametrize("word", [*yaml_1_1, *near_words, *near_numbers])
def test_these_words_are_strings(word: str) -> None:
    assert resolve(word) == word


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_back_as_python_writes_it(number: float) -> None:
    assert repr(resolve(repr(number))) == repr(number)


@given(st.integers())
def test_every_integer_is_read_back_as_python_writes_it(number: int) -> None:
    assert resolve(str(number)) == number
    if number >= 0:
        assert resolve(hex(number)) == resolve(oct(number)) == number


@pytest.mark.parametrize("word", ["1e309", "-1e309", "1e999999999999"])
def test_a_number_beyond_float64_is_refused(word: str) -> None:
    with pytest.raises(BadScalar, match="outside float64"):
        resolve(word)


def test_the_longest_number_is_the_exact_decimal_of_any_float64() -> None:
    assert resolve(f"{5e-324:.1074f}") == 5e-324
    assert resolve("1" * NUMBER_LENGTH) == int("1" * NUMBER_LENGTH)
    for word in ("1" * (NUMBER_LENGTH + 1), "0." + "1" * NUMBER_LENGTH, "1" * 100_000):
        with pytest.raises(BadScalar, match="characters"):
            resolve(word)


@pytest.mark.parametrize("word", ["-0", "-00"])
def test_minus_zero_without_a_point_would_lose_its_sign_and_is_refused(word: str) -> None:
    with pytest.raises(BadScalar, match="is the integer 0, without a sign") as caught:
        resolve(word)
    assert caught.value.hint == "write 0, or -0.0"
    assert repr(tagged("tag:yaml.org,2002:float", word)) == "-0.0"
    assert resolve("-01") == -1


def test_a_tag_decides_what_its_text_must_be() -> None:
    core = "tag:yaml.org,2002:"
    assert tagged("!", "12") == tagged(core + "str", "12") == "12"
    assert repr(tagged(core + "float", "12")) == "12.0"
    assert tagged(core + "float", ".inf") == math.inf
    for kind, text in [("int", "1.0"), ("int", "true"), ("float", "x"), ("bool", "1")]:
        with pytest.raises(BadScalar, match=f"is no !!{kind}"):
            tagged(core + kind, text)
    with pytest.raises(BadScalar, match="outside float64"):
        tagged(core + "float", "9" * 400)
