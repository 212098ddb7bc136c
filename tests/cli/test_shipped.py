"""`opcheck run` as a stranger types it first: the shipped suites on the default backends."""

import json
import re
import shlex
from collections import Counter
from itertools import takewhile

import pytest
from click.testing import CliRunner

from opcheck.cli.group import program
from opcheck.model import Computed
from tests.asking import shipped_cases
from tests.cli.conftest import without_diagnoses
from tests.node_tests import needs_known_releases
from tests.shell import README, block, numberless

pytestmark = [needs_known_releases, pytest.mark.starts_early]


def rows(text):
    """The table of counts: backend → column → count, summed over operators.

    Without the last column where it is `used`, which is no count.
    """
    text = f"\n{text}"
    _, head, _, *lines = text[text.rindex("\noperator  ") :].splitlines()
    columns = head.split()[2:]
    found: dict[str, Counter[str]] = {}
    for line in takewhile(lambda line: not line.startswith(("known: ", "self: ")), lines):
        words = line.split()
        if words:
            of_backend = found.setdefault(words[-len(columns) - 2], Counter())
            for column, word in zip(columns, words[-len(columns) :], strict=True):
                if column != "used":
                    of_backend[column] += 0 if word == "·" else int(word.replace(",", ""))
    return found


@pytest.mark.gate
def test_the_first_run_is_green_and_shows_what_is_known(first_run, run):
    assert first_run.exit_code == 0
    assert len(first_run.stderr.splitlines()) == 1  # what it is about
    lines = first_run.stdout.splitlines()
    assert len(lines) < 60
    assert max(map(len, lines[:-1])) <= 100
    assert [line for line in lines if " known defects" in line] == [
        line for line in lines if re.fullmatch(r"(onnxruntime|reference) \S+: \d+ .*", line)
    ]
    assert any(re.match(r"all +0 of [\d,]+( +[\d,]+ of [\d,]+){2}$", one) for one in lines)
    assert lines[-1].startswith("exit 0: nothing new: ")
    assert re.search("; reference is .*, onnxruntime ", lines[-1])
    assert "at opsets 1 to 5" in first_run.stdout
    assert "\n  repeat  " not in first_run.stdout

    found = run("report", str(first_run.stored), "-v", code=0)
    counts = rows(found.stdout)
    assert list(counts) == ["numpy", "onnxruntime", "reference"]
    computed = [case for case in shipped_cases() if isinstance(case.expect, Computed)]
    assert counts["numpy"]["self"] == sum(case.level != "deep" for case in computed) > 0
    assert sum(counts["numpy"].values()) == counts["numpy"]["pass"] + counts["numpy"]["self"]
    assert counts["onnxruntime"]["self"] == counts["reference"]["self"] == 0
    assert counts["onnxruntime"]["unsupported"] > 0
    for backend in ("onnxruntime", "reference"):
        assert counts[backend]["known"] > 0
    # The engine and the reference answer alike, and ONNX Runtime otherwise.
    nan = re.search(r"^Hardmax/nan( .*\n(?: .*\n)+)", found.stdout, re.MULTILINE)
    assert nan
    assert re.findall(r"(\S+) \S+ +\d+ +(\S+)\n", nan[1]) == [
        ("numpy", "first_nan"),
        ("reference", "first_nan"),
        ("onnxruntime", "no_one"),
        ("onnxruntime", "skips_nan"),
    ]
    assert "self: the engine" in found.stdout
    assert "used: the largest" in " ".join(found.stdout.split())
    assert found.stdout.splitlines()[-1] == lines[-1]


@pytest.mark.gate
def test_the_first_command_prints_what_the_readme_shows(run):
    (command,) = re.findall(r"&& .venv/bin/opcheck (run .*)", README.read_text("utf-8"))
    printed, shown = run(*command.split(), code=0, COLUMNS="100").stdout, block("…\nonnxruntime")
    # Tests have Pillow, which that command does not install: nothing is unsupported by numpy.
    left = iter(numberless(printed).replace("·", "N").splitlines())
    for line in numberless(shown).replace("·", "N").splitlines():
        assert line == "…" or line in left, line
    # Other counts may depend on the processor.
    counts = [
        int(re.findall(r"([\d,]+) results", text)[0].replace(",", "")) for text in (printed, shown)
    ]
    assert counts[0] - counts[1] in (0, 8)


def failures(printed: str, backend: str) -> list[str]:
    """What is told in full of the failures of a backend."""
    reports = [part for part in printed.split("\n\n") if "\n  repeat  " in part]
    red = [part for part in reports if part.startswith(("FAIL ", "ERROR "))]
    return [part for part in red if part.split()[1] == backend]


@pytest.fixture(scope="module")
def unlisted(tmp_path_factory):
    """What a run without the ledgers prints with -vv, and the stored run."""
    stored = tmp_path_factory.mktemp("unlisted") / "run.jsonl"
    words = "run", "--no-known", "--op", "Hardmax", "--dtype", "float32", "-vv"
    found = CliRunner().invoke(program, [*words, "--report", f"json={stored}"])
    assert found.exit_code == 1
    return found, str(stored)


@pytest.mark.seconds(8)
@pytest.mark.gate
def test_without_the_ledgers_the_defects_are_failures_of_which_some_are_told(run, unlisted):
    found = run("report", unlisted[1], "-v", code=1)
    counts = rows(found.stdout).values()
    told = [part for backend in rows(found.stdout) for part in failures(found.stdout, backend)]
    total = sum(count["fail"] + count["error"] for count in counts)
    assert 0 < len(told) < total / 5
    assert f"… and {total - len(told)} more failures" in found.stdout


@pytest.mark.gate
def test_without_the_ledgers_the_defects_are_failures_in_full(run, unlisted):
    found, _ = unlisted
    total = rows(found.stdout)["reference"]
    of_reference = failures(found.stdout, "reference")
    assert len(of_reference) == total["fail"] + total["error"] > 0
    for version in ("Hardmax-1 at opset 1,", "Hardmax-11 at opset 11,"):
        tables = [part for part in of_reference if version in part and "wrong" in part]
        assert len(tables) >= 10
        for part in tables:
            assert re.search(r"^ {10}index +input +want +got +ULP +allowed$", part, re.MULTILINE)
            assert re.search(r"^ {10}\[[\d, ]+\] .* exact$", part, re.MULTILINE)
            assert re.search(r"^  found   .*output: \d+ of \d+ elements wrong$", part, re.MULTILINE)
            assert re.search(r"^  where   output: \w+", part, re.MULTILINE)
            assert re.search(r"^  clause  “.+”$", part, re.MULTILINE)
            assert re.search(
                r"^  written cases/onnx/softmax.hardmax.yaml:\d+:\d+$", part, re.MULTILINE
            )
    assert "Known defects" not in found.stdout
    assert found.stdout.splitlines()[-1].startswith("exit 1: does not")
    for part in (of_reference[0], of_reference[-1], failures(found.stdout, "onnxruntime")[0]):
        *told, last = part.splitlines()
        again = run(*shlex.split(last.removeprefix("  repeat  "))[1:], code=1)
        alone, among = without_diagnoses(again.stdout.splitlines()), without_diagnoses(told)
        assert alone[: len(among)] == among


@pytest.mark.gate
def test_the_stream_says_the_same_as_the_tables(first_run, run):
    tables = run("report", str(first_run.stored), "-v")
    header, *records, footer = map(json.loads, first_run.stored.read_text("utf-8").splitlines())
    assert len(records) == header["cases"] * 3
    assert footer["complete"] is True
    totals = {
        backend: {**counts, "pass": counts["pass"] + counts.get("self", 0)}
        for backend, counts in rows(tables.stdout).items()
    }
    # Tables count what is listed, and no defect, as what it is.
    for one in (one for one in records if one["found"] in ("warn", "unsupported")):
        footer["totals"][one["backend"]]["known"] -= 1
        footer["totals"][one["backend"]][one["found"]] += 1
    for backend, counts in footer["totals"].items():
        assert {column: totals[backend][column] for column in counts} == counts
    assert {record["backend"] for record in records if record["self"]} == {"numpy"}
    known = [record for record in records if record["verdict"] == "known"]
    assert {record["known"]["ledger"] for record in known} == {"onnxruntime.yaml", "reference.yaml"}
    assert {record["found"] for record in known} >= {"fail", "error", "warn"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--op", "hardmax", "-b", "numpy", "--level", "smoke"], 0),
        (["--op", "Hardmax", "-k", "nothing_matches"], 5),
        (["-b", "onnxruntime", "--dtype", "float64", "--op", "Hardmax", "-k", "ties"], 5),
        (["-b", "reference", "--op", "Hardmax", "-k", "coerced", "--no-known"], 1),
        (["-b", "reference", "--op", "Hardmax", "--opset", "11", "--strict"], 0),
        (
            ["-b", "reference", "--strict", "--no-known", "--op", "Hardmax", "-k", "integer_input"],
            1,
        ),
        (["-b", "reference", "--no-known", "--op", "Hardmax", "-k", "integer_input"], 0),
        (["-b", "onnxruntime:CPUExecutionProvider", "--op", "Hardmax", "--level", "smoke"], 0),
    ],
)
def test_exit_codes(run, words, code):
    assert run("run", *words, code=code).stdout.splitlines()[-1].startswith(f"exit {code}: ")


def test_a_case_is_asked_for_whatever_its_level(run):
    words = ("list", "--op", "Hardmax")
    deep = run(*words, "--level", "deep", "--format", "json").stdout.splitlines()
    found = next(json.loads(line)["case"] for line in deep if '"level": "deep"' in line)
    assert found not in run(*words).stdout
    assert "1 case from 1 template" in run("list", "--case", found).stdout


def test_verbose_shows_the_known_defects_in_full(run):
    words = ("-b", "onnxruntime", "--op", "Hardmax", "-k", "axis_beyond_32_bits", "-vv")
    found = run("run", *words, code=0)
    assert "KNOWN onnxruntime  Hardmax/axis_beyond_32_bits@" in found.stdout
    assert "cut to 32 bits" in found.stdout
