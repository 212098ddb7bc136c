"""A benchmark in a file, and every way in which such a file can be unusable."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from opcheck.errors import Unwritable
from opcheck.model.timing import Timing
from opcheck.report import timings
from opcheck.report.timings import Stored
from tests.report import made
from tests.report.timed import bench, row, samples, timing

BENCH = bench("acme", "bolt?threads=2")
ROWS = (
    row(
        "Softmax/ß “rows”",
        (timing("acme", 1e-3), Timing("bolt?threads=2", why_not="it is “so”, and wrong")),
    ),
    row(
        "Softmax/two",
        (
            replace(timing("acme", 0.1 + 0.2, rounds=4), printed="a\nb"),
            timing("bolt?threads=2", 3e-9),
        ),
    ),
    row("Softmax/none", (), copy=(), yardstick=samples(1e-3, workers=1)),
)
LINES = [*timings.lines(BENCH, ROWS, complete=True)]


def complaint(path):
    return made.complaint(timings.read, path)


def test_what_was_written_is_read_to_the_last_bit(file):
    assert timings.read(file(LINES)) == Stored(BENCH, ROWS, complete=True)


def test_a_line_is_what_any_reader_of_json_takes(wording):
    first, line, *_ = LINES
    assert line.isascii()
    assert json.loads(first)["bench"]["machine"]["cores"] == 8
    found = json.loads(line)
    assert (
        list(found)
        == """
        type case op dtype shapes moved timings copy yardstick digest host
    """.split()
    )
    acme, bolt = found["timings"]
    assert (acme["backend"], acme["why_not"], acme["prepared"]) == ("acme", "", [0.012] * 3)
    assert acme["samples"]["round"] == [*range(30)]
    assert acme["samples"]["worker"][:4] == [0, 1, 2, 0]
    assert acme["samples"]["loops"] == [16] * 30
    assert acme["samples"]["seconds"] == [sample.seconds for sample in ROWS[0].timings[0].samples]
    assert bolt["samples"] == {"round": [], "worker": [], "loops": [], "seconds": [], "waited": []}
    assert bolt["why_not"] == wording


def test_a_file_has_all_that_was_written_last_and_nothing_of_before(tmp_path):
    path = tmp_path / "stored.jsonl"
    path.write_text("something of another day\n" * 100)
    timings.write(path, BENCH, (), complete=False)
    assert timings.read(path) == Stored(BENCH, (), complete=False)
    timings.write(path, BENCH, ROWS[:2], complete=True)
    assert timings.read(path) == Stored(BENCH, ROWS[:2], complete=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["stored.jsonl"]


def test_a_benchmark_that_was_interrupted_is_read_and_is_not_complete(file):
    ended = timings.lines(BENCH, ROWS[:2], complete=False)
    assert timings.read(file(ended)) == Stored(BENCH, ROWS[:2], complete=False)


def test_a_file_that_cannot_be_written_is_told(tmp_path, wording):
    with pytest.raises(Unwritable) as raised:
        timings.write(tmp_path / "nowhere" / "stored.jsonl", BENCH, ROWS, complete=True)
    assert raised.value == wording


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_is_no_traceback(wording):
    with pytest.raises(Unwritable) as raised:
        timings.write(Path("/dev/full"), BENCH, ROWS, complete=True)
    assert raised.value == wording


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_cut_short_is_told(file, end, wording):
    [said] = complaint(file([*LINES[:3], LINES[3][:80]], end=end))
    assert said.startswith(":4:1: Invalid JSON: ")
    assert timings.read(file(LINES[:3])).rows == ROWS[:2]
    [said] = complaint(file([LINES[0][:80]], end=end))
    assert said == wording


@pytest.mark.parametrize(
    ("number", "path", "value", "said"),
    [
        (1, ("bench", "threads"), "2", "bench.threads: Input should be a valid integer, got '2'"),
        (1, ("bench", "cold"), 0, "bench.cold: Input should be a valid boolean, got 0"),
        (1, ("bench", "machine", "cores"), -1, "bench.machine.cores: Input should be"),
        (1, ("bench", "more"), 1, "bench.more: Extra inputs are not permitted, got 1"),
        (2, ("moved",), -1, "moved: Input should be greater than or equal to 0, got -1"),
        (2, ("moved",), 1 << 60, "moved: Input should be less than 9007199254740992"),
        (2, ("case",), None, "case: Input should be a valid string, got null"),
        (2, ("timings", 0, "samples", "seconds", 3), "1", "timings.0.samples.seconds.3: Input"),
        (2, ("timings", 0, "samples", "seconds", 3), 0, "timings.0.samples.seconds.3: Input"),
        (2, ("timings", 0, "samples", "loops", 3), 0, "timings.0.samples.loops.3: Input should"),
        (2, ("timings", 0, "samples", "waited", 3), -1, "timings.0.samples.waited.3: Input should"),
        (2, ("timings", 0, "samples", "waited"), [0.1], "timings.0.samples: the col"),
        (2, ("timings", 0, "samples", "loops"), [16], "timings.0.samples: the col"),
        (2, ("timings", 0, "samples", "round", 1), 0, "timings.0.samples: a round"),
        (2, ("timings", 0, "backend"), "bolt?threads=2", "a backend must occur once"),
        (2, ("type",), "timing", "Input tag 'timing' found using 'type_'"),
        (3, ("copy",), [], "copy: Input should be an object"),
        (3, ("case",), "Softmax/ß “rows”", "the case 'Softmax/ß “rows”' occurs twice"),
        (5, ("cases",), 4, "the footer counts 4 cases; there are 3 (lines are missing, or were"),
        (5, ("complete",), "yes", "complete: Input should be a valid boolean, got 'yes'"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(file, number, path, value, said):
    first = complaint(file(made.changed(LINES, number, path, value)))[0]
    assert first.startswith(f":{number}:1: {said}")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_no_time_is_infinite(file, word):
    line = LINES[2].replace(str(ROWS[1].timings[0].samples[0].seconds), word)
    assert line != LINES[2]
    [said] = complaint(file([*LINES[:2], line, *LINES[3:]]))
    assert said.startswith(":3:1: timings.0.samples.seconds.0: Input should be ")


def test_no_load_is_infinite(file, wording):
    assert complaint(file([LINES[0].replace('"load":0.75', '"load":Infinity')])) == [wording]


WHOLE = "\n".join(timings.lines(BENCH, [replace(ROWS[1], copy=())], complete=True)).encode()


@given(data=made.damaged(WHOLE))
def test_a_damaged_file_is_refused_or_holds_what_can_be_used(tmp_path_factory, data):
    stored = made.unless_refused(timings.read, tmp_path_factory, data)
    for one in stored.rows if stored else ():
        assert len([*timings.lines(stored.bench, [one], complete=True)]) == 3
        assert all(sample.seconds > 0 for timing in one.timings for sample in timing.samples)
