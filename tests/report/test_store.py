import re
import struct
from decimal import Decimal

import numpy as np
import pydantic_core
import pytest

from opcheck.dtypes import DTYPES
from opcheck.errors import Exit
from opcheck.model import Comparison, Diagnosis, Ending, Known, Mismatch, Verdict
from opcheck.report import store
from tests.report.made import CASE, header, record, strict, wrong_values


def worst(mismatch, dtype):
    """The only wrong element of a record."""
    comparison = wrong_values(dtype, mismatch, wrong=1, total=2, where="everywhere")
    found = strict(store.record(record(Verdict.FAIL, comparisons=(comparison,))))
    [element] = found["comparisons"][0]["worst"]
    return element


def test_the_header_tells_format_machine_and_backends():
    assert strict(store.header(header("acme", "bolt", cases=3))) == {
        "type": "header",
        "format": 4,
        "minor": 2,
        "not_deciding": [
            "header.environment.machine",
            "header.environment.remarks",
            "result.diagnoses.asked",
            "result.diagnoses.repeat",
            "footer.revised.diagnoses.asked",
            "footer.revised.diagnoses.repeat",
        ],
        "environment": {
            "opcheck": "0.0",
            "python": "3.11",
            "platform": "somewhere",
            "packages": {"numpy": "2.0"},
            "machine": {},
            "remarks": [],
        },
        "backends": [
            {
                "address": address,
                "kind": address,
                "version": "1.5",
                "accumulate": [],
                "engine": False,
                "repeatable": True,
                "devices": [],
                "threads": None,
                "of": None,
                "refuses": True,
                "made_of": {},
                "asked": None,
            }
            for address in ("acme", "bolt")
        ],
        "selection": "level core",
        "cases": 3,
        "suite": {"digest": "5eed", "cases": 3},
        "started": "2031-02-03T04:05:06+00:00",
        "level": "core",
        "paths": [],
        "known": True,
        "ledgers": {},
        "strict": False,
        "require_supported": False,
        "named": False,
        "options": {},
        "oracles": [],
        "shard": None,
        "seed": None,
    }


def test_a_record_names_its_case_in_full():
    found = strict(store.record(record(Verdict.FAIL, reason="so", seconds=0.25)))
    assert found | {"question": "", "repeat": "", "digest": ""} == {
        **dict.fromkeys(("failure", "alternative", "known", "found", "used", "verdicts"), None),
        **dict.fromkeys(("self", "refused", "inexpressible", "irreproducible", "beyond"), False),
        **dict.fromkeys(("printed", "oracle", "question", "repeat", "digest"), ""),
        **{key: [] for key in ("against", "diagnoses", "rulings", "comparisons")},
        "type": "result",
        "case": CASE.id,
        "backend": "acme",
        "verdict": "fail",
        "reason": "so",
        "unexpected": False,
        "op": "Hardmax",
        "domain": "",
        "since": 13,
        "opset": 13,
        "dtype": "float32",
        "name": "first_of_ties",
        "row": "axis_0",
        "rule": "must",
        "level": "core",
        "clause": CASE.clause,
        "source": {"file": "my/ties.yaml", "line": 7, "column": 3, "shipped": False},
        "place": 0,
        "unjudged": 0,
        "seconds": 0.25,
    }


def test_a_case_without_one_dtype_has_none():
    assert strict(store.record(record(dtype=None)))["dtype"] is None


def test_a_known_failure_keeps_what_was_found():
    known = Known("Why.", "https://example.org", "acme.yaml")
    found = strict(store.record(record(Verdict.KNOWN, known=known, found=Verdict.ERROR)))
    assert (found["verdict"], found["found"]) == ("known", "error")
    assert found["known"] == {
        "cause": "Why.",
        "link": "https://example.org",
        "ledger": "acme.yaml",
        "line": None,
        "text": "",
        "expected": "",
        "id": None,
    }


def test_a_diagnosis_keeps_the_name_of_its_mistake_and_what_was_asked_about_it():
    looks = Diagnosis(
        "last_of_ties",
        "the last of equal maxima won",
        asked=("asked again without `axis`: passes",),
        repeat="opcheck run --case a --case b",
    )
    found = strict(store.record(record(Verdict.FAIL, diagnoses=(looks,))))
    assert found["diagnoses"] == [
        {
            "mistake": looks.mistake,
            "text": looks.text,
            "counts": None,
            "asked": [*looks.asked],
            "repeat": looks.repeat,
        }
    ]


def test_infinite_and_missing_measures_are_no_literals():
    comparison = Comparison("Y", "shape", "(2,), want (3,)", used=np.inf)
    found = strict(store.record(record(Verdict.FAIL, comparisons=(comparison,))))
    assert found["used"] == found["comparisons"][0]["used"] == "inf"
    assert found["comparisons"][0]["dtype"] is None


BITS = {"float16": ">e", "bfloat16": ">f", "float32": ">f", "float64": ">d"}


@pytest.mark.parametrize(
    ("dtype", "value", "said"),
    [
        ("float16", 0.1, "0.1"),
        ("float16", 65504.0, "65504.0"),
        ("float32", 0.1, "0.1"),
        ("float32", 2.0**-149, "1e-45"),
        ("float32", 3.4028234663852886e38, "3.4028235e+38"),
        ("bfloat16", 0.10009765625, "0.1"),
        ("bfloat16", 3.3895313892515355e38, "3.39e+38"),
        ("float32", 16777216.0, "16777216.0"),
        ("float64", 0.1, "0.1"),
        ("float64", 0.1 + 0.2, "0.30000000000000004"),
        ("float64", -0.0, "-0.0"),
        ("float32", np.inf, "inf"),
        ("float32", -np.inf, "-inf"),
        ("float32", np.nan, "nan"),
    ],
)
def test_values_are_spelt_shortly_and_exactly(dtype, value, said):
    held = float(np.array(value, DTYPES[dtype].numpy))
    element = worst(Mismatch((0,), held, held, 0, "exact", held), dtype=dtype)
    assert [element[name] for name in ("want", "got", "input")] == [said] * 3
    # A bfloat16 is the first half of a float32.
    raw = struct.pack(BITS[dtype], held)[: DTYPES[dtype].numpy.itemsize].hex()
    assert [element[f"{name}_bits"] for name in ("want", "got")] == [f"0x{raw}"] * 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_values_are_spelt_in_the_fewest_digits_that_lead_back_to_them(dtype):
    infinity = {"float16": 0x7C00, "bfloat16": 0x7F80}[dtype]
    kind = DTYPES[dtype].numpy
    for value in np.arange(0, infinity, 11, dtype=np.uint16).view(kind):
        number = float(value)
        said = worst(Mismatch((0,), number, number, 0, ""), dtype=dtype)["want"]
        assert np.array(float(said)).astype(kind) == value
        digits = len(Decimal(said).normalize().as_tuple().digits)
        if digits > 1 and not number.is_integer():
            assert np.array(float(f"{number:.{digits - 2}e}")).astype(kind) != value


@pytest.mark.parametrize(
    ("dtype", "value", "said", "bits"),
    [
        ("int8", -1, "-1", "0xff"),
        ("uint64", 2**64 - 1, "18446744073709551615", "0xffffffffffffffff"),
        ("int64", -(2**63), "-9223372036854775808", "0x8000000000000000"),
        ("bool", True, "True", "0x01"),
    ],
)
def test_whole_numbers_and_truth_values_are_exact(dtype, value, said, bits):
    element = worst(Mismatch((0,), value, value, None, "exact"), dtype=dtype)
    assert (element["want"], element["want_bits"]) == (said, bits)
    assert element["input"] == ""


def test_an_input_may_have_more_digits_than_the_output():
    mismatch = Mismatch((0,), 1.0, 2.0, 1, "exact", 1.000488281250001)
    assert worst(mismatch, dtype="float16")["input"] == "1.000488281250001"


def test_what_is_no_json_is_an_error_of_ours_and_never_written():
    with pytest.raises(ValueError, match="JSON"):
        store.record(record(seconds=np.nan))


@pytest.mark.parametrize("text", ["a\ud800b", "\udc00\ud800", "\\ud800\ud800"])
def test_half_of_a_surrogate_pair_is_no_text_and_does_no_harm(text):
    line = store.record(record(Verdict.ERROR, reason=text, printed=text))
    found = strict(line)
    said = re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert found["reason"] == found["printed"] == said
    assert pydantic_core.from_json(line) == found


def test_the_footer_counts_by_backend_and_verdict():
    results = [record(), record(), record(Verdict.FAIL), record(Verdict.NOT_RUN, "bolt")]
    ending = Ending(False, int(Exit.INTERRUPTED), "cut short", 1.5, ("it died",), ("it left",))
    assert strict(store.footer(results, ending)) == {
        "type": "footer",
        "complete": False,
        "totals": {"acme": {"pass": 2, "fail": 1}, "bolt": {"not run": 1}},
        "exit_code": 130,
        "meaning": "cut short",
        "seconds": 1.5,
        "accidents": ["it died"],
        "partings": ["it left"],
    }
