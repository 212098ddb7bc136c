"""`opcheck run --report` and `opcheck report`: what a run leaves, and what is made of it later."""

import gzip
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from opcheck.cli.group import program
from opcheck.report import store, timings
from tests.cli.conftest import notes
from tests.cli.fakes import FAKES
from tests.cli.test_run import CASES, EACH
from tests.report.timed import stored as stored_benchmark
from tests.wording import lines_with

pytestmark = pytest.mark.usefixtures("cases")

FORMATS = {
    "json": "run.jsonl",
    "junit": "run.xml",
    "markdown": "run.md",
    "html": "run.html",
    "github": "run.log",
}


def stored(run, *words, **environment):
    """What a run printed, and what it left in a file."""
    found = run("run", "cases.yaml", *words, "--report", "json=run.jsonl", **environment)
    return found, store.read(Path("run.jsonl"))


def as_reported(text):
    """What a run printed, as `opcheck report` has it: there all causes are by all results."""
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith("so far: ")]
    return "".join(kept).replace("  so far  ", "  likely  ").replace("\n\n\n", "\n\n")


def first_causes(text):
    """What was printed without further causes of a failure, which later results may exclude."""
    lines = text.splitlines(keepends=True)
    return "".join(
        line for line in lines if not line.startswith(("  or      ", " " * 10 + "… and"))
    )


def tables(text):
    """What follows the failures; those that were printed at once had provisional looks."""
    before, start, after = text.partition("What is wrong with ")
    return start + after or before


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("backends", "words", "options"),
    [
        (["right", "last_of_ties"], [], []),
        (["right", "last_of_ties"], [], ["-q"]),
        (["right", "last_of_ties"], [], ["-v"]),
        (["last_of_ties", "rude", "declines"], ["--strict", "--require-supported"], []),
        (["right"], ["-k", "nothing"], []),
        (["declines"], [], []),
        (["falls_back", "narrow"], [], []),
        (FAKES, [], []),
    ],
)
@pytest.mark.parametrize("width", ["60", "120"])
def test_a_stored_run_is_shown_as_the_run_showed_itself(run, backends, words, options, width):
    asked = [word for backend in backends for word in ("-b", backend)]
    ran, _ = stored(run, *asked, *words, *options, COLUMNS=width)
    again = run("report", "run.jsonl", *options, COLUMNS=width)
    assert tables(again.stdout) == tables(ran.stdout)
    assert again.exit_code == ran.exit_code
    assert again.stderr == ""


def test_a_case_that_is_wrong_is_shown_once_there_too(run, tmp_path):
    wrong = CASES.replace("[[1, 0, 0], [1, 0, 0]]", "[[0, 1, 0], [1, 0, 0]]")
    (tmp_path / "cases.yaml").write_text(wrong)
    ran, _ = stored(run, "-b", "right", "-b", "last_of_ties")
    again = run("report", "run.jsonl")
    assert first_causes(again.stdout) == first_causes(as_reported(ran.stdout))
    assert again.exit_code == 2
    assert again.stdout.count("BAD CASE") == 1


def test_an_incomplete_run_is_shown_as_such_whatever_its_verdicts(run, wording):
    ran, kept = stored(run, "-b", "last_of_ties", "-x")
    assert ran.exit_code == 1
    assert kept.ending is not None
    assert not kept.complete
    *same, last = run("report", "run.jsonl", code=4).stdout.splitlines()
    assert same == as_reported(ran.stdout).splitlines()[:-1]
    assert "INCOMPLETE: 1 of 5 results" in same
    assert last == wording


def test_a_run_that_lost_its_end_is_incomplete_in_every_format(run, tmp_path):
    stored(run, "-b", "right")
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    (tmp_path / "run.jsonl").write_text("\n".join(lines[:3]) + "\n" + lines[3][:40])
    for form in ("pretty", *FORMATS):
        found = run("report", "run.jsonl", "--format", form, code=4)
        assert "incomplete: 2 of 5 results" in found.output


def test_the_file_is_what_is_streamed(run):
    words = ("run", "cases.yaml", *EACH, "--report", "json=run.jsonl", "--format", "json")
    Path("streamed.jsonl").write_text(run(*words).stdout)
    assert store.read(Path("streamed.jsonl")) == store.read(Path("run.jsonl"))
    assert run("report", "run.jsonl", "--format", "json").stdout == Path("run.jsonl").read_text()


def test_the_header_tells_what_verdicts_depend_on(run, wording):
    words = ["-b", "right", "--strict", "--require-supported", "--no-known", "--timeout", "7"]
    _, kept = stored(run, *words, "--memory-limit", "2GiB", "--level", "smoke", "-k", "not nan")
    head = kept.header
    flags = head.strict, head.require_supported, head.known, head.named
    assert flags == (True, True, False, True)
    assert head.options == {"timeout": "7 s", "memory-limit": "2GiB"}
    assert (head.level, head.paths) == ("smoke", ("cases.yaml",))
    assert head.cases == 0
    assert head.selection == wording
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", head.started)
    assert (head.shard, head.seed) == (None, None)


def test_the_suite_is_told_by_its_cases_and_not_by_who_was_asked(run, tmp_path):
    _, one = stored(run, "-b", "right")
    _, other = stored(run, "-b", "last_of_ties", "--strict")
    assert one.header.suite == other.header.suite
    assert one.header.suite.cases == 5
    assert {record.place for record in one.records} == set(range(5))
    (tmp_path / "cases.yaml").write_text(CASES.replace("3, 3, 1", "3, 3, 2"))
    _, changed = stored(run, "-b", "right")
    assert changed.header.suite.digest != one.header.suite.digest
    pairs = zip(one.records, changed.records, strict=True)
    assert [a.case for a, b in pairs if a.digest != b.digest] == ["Hardmax/ties"]


def test_a_failure_is_kept_with_its_picture(run):
    _, kept = stored(run, "-b", "last_of_ties", "-k", "ties and not many")
    [comparison] = kept.records[0].comparisons
    assert comparison.picture is not None
    assert comparison.picture.shape == (2, 3)
    assert comparison.picture.cells == ("ZZ.", "Z.Z")
    # From 0 to 1 there are 127 binades of 2**23 steps, which takes 30 bits.
    assert comparison.picture.ulps == ((0, 2), (30, 4))


def test_standard_input_is_a_run_too(run, wording):
    ran, _ = stored(run, "-b", "right")
    found = CliRunner().invoke(program, ["report", "-"], input=Path("run.jsonl").read_bytes())
    assert first_causes(found.stdout) == first_causes(as_reported(ran.stdout))
    assert found.exit_code == ran.exit_code
    found = CliRunner().invoke(program, ["report", "-"], input=b"nonsense")
    assert found.exit_code == 2
    assert found.stderr == wording


@pytest.mark.gate
def test_a_run_writes_what_is_made_of_it_later(run):
    targets = [word for form, name in FORMATS.items() for word in ("--report", f"{form}={name}")]
    found = run("run", "cases.yaml", *EACH, *targets)
    assert found.exit_code == 4  # one of the fakes is not what was asked for
    for form, name in FORMATS.items():
        written = Path(name).read_bytes()
        assert run("report", "run.jsonl", "--format", form, code=4).stdout_bytes == written
        assert run("report", "run.jsonl", "--format", form, "-o", "later").stdout == ""
        assert Path("later").read_bytes() == written
    assert run("report", "run.jsonl", "-o", "later").exit_code == 4
    assert Path("later").read_text() == run("report", "run.jsonl").stdout


def test_annotations_may_go_where_the_tables_go(run):
    found = run("run", "cases.yaml", "-b", "last_of_ties", "-q", "--report", "github=-")
    plain = run("run", "cases.yaml", "-b", "last_of_ties", "-q").stdout
    assert found.stdout.startswith(plain)
    rest = found.stdout.removeprefix(plain).splitlines()
    assert [line.partition(" ")[0] for line in rest] == ["::error"] * 4 + ["::notice"]
    assert rest[0].startswith(
        "::error file=cases.yaml,line=7,col=3,title=FAIL last_of_ties%3A Hard"
    )


@pytest.mark.parametrize(
    "targets",
    [
        ["xml=a"],
        ["jnuit=a"],
        ["junit"],
        ["junit="],
        ["=a"],
        ["junit=none/a.xml"],
        ["junit=."],
        ["json=a", "junit=./a"],
        ["json=cases.yaml"],
        ["json=other.yml"],
        ["html=kernel.py"],
        ["junit=a\0b"],
        ["junit=-"],
        ["json=-"],
        ["github=-", "github=-"],
        ["junit=none/a", "markdown=."],
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_written_is_told_before_anything_runs(run, targets, wording):
    words = [word for target in targets for word in ("--report", target)]
    found = run("run", "cases.yaml", "-b", "no such backend either", *words, code=2)
    assert found.stderr == wording
    assert "no such backend" not in found.stderr
    assert [path.name for path in Path().iterdir()] == ["cases.yaml"]


def test_a_stream_on_standard_output_has_it_to_itself(run, wording):
    found = run("run", "cases.yaml", "-b", "right", "--format", "json", "--report", "github=-")
    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr == wording


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("backend", "meaning"), [("right", "conforms"), ("twice", "does not")])
def test_a_report_that_could_not_be_written_is_loud_and_the_run_goes_on(
    run, form, backend, meaning
):
    words = ("-b", backend, "-k", "ties", "--report", f"{form}=/dev/full", "--report", "json=kept")
    found = run("run", "cases.yaml", *words, code=4)
    told = f"--report {form}=/dev/full cannot be written: No space left on device"
    assert notes(found) == f"opcheck: {told}\n"
    assert found.stdout.splitlines()[-1].startswith(f"exit 4: {told}; {meaning}")
    assert store.read(Path("kept")).complete


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
@pytest.mark.parametrize("form", ["pretty", *FORMATS])
def test_a_report_of_a_stored_run_that_cannot_be_written_is_an_error(run, form, wording):
    stored(run, "-b", "right")
    found = run("report", "run.jsonl", "--format", form, "-o", "/dev/full")
    assert (found.exit_code, found.stdout) == (4, "")
    assert found.stderr == wording


@pytest.mark.skipif(os.getuid() == 0, reason="root may read all")
def test_a_folder_that_may_not_be_written_is_told(run, tmp_path, wording):
    (tmp_path / "locked").mkdir(mode=0o500)
    found = run("run", "cases.yaml", "--report", "junit=locked/a.xml", code=2)
    assert found.stderr == wording


@pytest.mark.parametrize(
    "words",
    [
        ["report", "none.jsonl"],
        ["report", "cases.yaml"],
        ["report", "."],
        ["report", "run.jsonl", "-q", "--format", "junit"],
        ["report", "run.jsonl", "-o", "run.jsonl"],
        ["report", "run.jsonl", "-o", "none/x"],
        ["report", "run.jsonl", "--format", "xml"],
        ["report"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_told(run, words, wording):
    stored(run, "-b", "right")
    found = run(*words, code=2)
    assert found.stderr == wording
    assert found.stdout == ""


@pytest.fixture
def timed(tmp_path):
    def keep(*, complete=True, rows=None):
        kept = stored_benchmark(complete=complete)
        found = kept.rows if rows is None else rows
        timings.write(tmp_path / "bench.jsonl", kept.bench, found, complete=complete)
        return "bench.jsonl"

    return keep


def test_a_benchmark_is_printed_as_when_it_was_measured(run, timed, wording):
    found = run("report", timed(), code=0)
    assert "Softmax/a" in found.stdout
    assert lines_with(found.stdout, "other was not") == wording


def test_a_packed_benchmark_is_shown_as_it_would_be_unpacked(run, timed, tmp_path):
    plain = run("report", timed())
    packed = gzip.compress((tmp_path / "bench.jsonl").read_bytes())
    (tmp_path / "bench.jsonl.gz").write_bytes(packed)
    assert run("report", "bench.jsonl.gz").stdout == plain.stdout
    (tmp_path / "cut.gz").write_bytes(packed[:12])
    assert "cannot be unpacked" in run("report", "cut.gz").stderr


def test_a_benchmark_that_was_cut_short_is_shown_as_such(run, timed, wording):
    found = run("report", timed(complete=False), code=4)
    assert "INCOMPLETE" in found.stdout
    assert found.stderr == wording


def test_a_benchmark_without_times_conforms_to_nothing(run, timed):
    assert run("report", timed(rows=())).exit_code == 5


@pytest.mark.parametrize("words", [["--format", "junit"], ["--format", "html"], ["-q"], ["-v"]])
def test_what_is_there_for_runs_only_is_refused_for_a_benchmark(run, timed, words):
    assert "bench.jsonl is a benchmark" in run("report", timed(), *words, code=2).stderr
