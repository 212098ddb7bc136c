"""A run in a file: what is written is read, and whatever else is there is told or is no result."""

import gzip
import io
import os
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opcheck import model
from opcheck.analysis import outcome
from opcheck.dtypes import DTYPES, round_to
from opcheck.errors import CaseFileError, Exit
from opcheck.report import store
from tests.expecting import error_of
from tests.report import made
from tests.report.made import CASE, header, record, recorded, wrong_values

HEADER = replace(
    header("acme", "bolt?threads=2", cases=2),
    paths=("my/ß.yaml",),
    options={"timeout": "5 s"},
    started="2031-01-02T03:04:05+00:00",
    strict=True,
    named=True,
    ledgers={"my/ß.yaml": "5eed"},
)
WRONG = replace(
    wrong_values(
        "float32",
        model.Mismatch((0, 1), 0.1, float("nan"), None, "±0.5", 3.0),
        wrong=1,
        total=4,
        where="x",
    ),
    picture=lambda: model.Picture((2, 2), ((0, 2), (2, 1)), 1, (".a", "zZ")),
)
RECORDS = (
    record(model.Verdict.PASS, seconds=0.25),
    record(model.Verdict.FAIL, "bolt?threads=2", comparisons=(WRONG,), failure="values"),
    record(
        model.Verdict.KNOWN,
        id="Hardmax/two",
        place=1,
        known=model.Known("Why →.", None, "acme.yaml"),
        found=model.Verdict.CRASH,
        diagnoses=(model.Diagnosis("a", "as if a"), model.Diagnosis(None, "as if ½")),
    ),
    record(model.Verdict.NOT_RUN, "bolt?threads=2", id="Hardmax/two", place=1, reason='"so"\n\x00'),
)
ENDING = model.Ending(True, 4, "incomplete: 1 not run", 1.5, ("acme: it died",), ("bolt: it left",))
RUN = model.Run(HEADER, RECORDS, ENDING)
TEXT = st.text(max_size=12)
SHARES = st.just(0.0) | st.floats(0, allow_nan=False)


def lines_of(run):
    footer = [] if run.ending is None else [store.footer(run.records, run.ending)]
    return [store.header(run.header), *map(store.record, run.records), *footer]


LINES = lines_of(RUN)


def complaint(path):
    return made.complaint(store.read, path)


def test_what_was_written_is_read(file):
    assert store.read(file(LINES)) == RUN
    assert store.read(file(LINES)).complete


def test_the_same_is_read_of_a_stream(wording):
    assert store.read(Path("<stdin>"), io.BytesIO("\n".join(LINES).encode())) == RUN
    with pytest.raises(CaseFileError) as raised:
        store.read(Path("<stdin>"), io.BytesIO(b""))
    assert raised.value == wording


def test_a_file_may_be_packed(file, wording):
    path = file(LINES)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert store.read(path) == RUN
    path.write_bytes(gzip.compress(b""))
    assert complaint(path) == [wording]


def test_a_named_pipe_is_read_once_its_writer_writes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)  # of both ends, or it would wait for the reader

    def write() -> None:
        os.write(writer, "\n".join(LINES).encode())
        os.close(writer)

    Timer(0.2, write).start()
    assert store.read(pipe) == RUN


def test_a_named_pipe_without_a_writer_is_refused_at_once(tmp_path, wording):
    os.mkfifo(tmp_path / "pipe")
    assert complaint(tmp_path / "pipe") == wording


@pytest.mark.parametrize("end", [-1, -9, 40, 11, 3])
def test_a_packed_file_that_is_cut_short_is_refused(file, end, wording):
    path = file(LINES)
    path.write_bytes(gzip.compress(path.read_bytes())[:end])
    assert complaint(path) == wording


def test_a_packed_file_that_is_damaged_is_refused(file):
    path = file(LINES)
    packed = gzip.compress(path.read_bytes())
    for place in (12, 60, len(packed) // 2, len(packed) - 6):
        path.write_bytes(packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :])
        assert complaint(path)


def test_what_a_packed_file_holds_is_limited_too(tmp_path, wording):
    """Some kilobytes of zeros unpack to gigabytes."""
    path = tmp_path / "run.jsonl.gz"
    with gzip.open(path, "wb") as out:
        out.write(f"{LINES[0]}\n".encode())
        for _ in range(40):
            out.write(bytes(1 << 20))
    assert path.stat().st_size < 100_000
    assert complaint(path) == [wording]


def test_blank_lines_of_a_small_packed_file_are_limited(tmp_path, wording):
    path = tmp_path / "run.jsonl"
    path.write_bytes(gzip.compress(b"\n" * (store.MOST_BLANK + 1)))
    assert complaint(path) == [wording]


def test_a_shard_is_part_of_a_suite(file):
    run = replace(RUN, header=replace(HEADER, suite=model.Suite("5eed", 9), shard=(2, 3)))
    assert store.read(file(lines_of(run))) == run


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_run_that_a_shell_of_windows_wrote_is_told_from_a_damaged_one(file, encoding, wording):
    path = file(LINES)
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    (problem,) = error_of(CaseFileError, store.read, path).problems
    assert str(problem) == wording


@st.composite
def mismatches(draw, dtype):
    if dtype.kind == "float":
        number = st.floats(width=64)
        values = [float(round_to(np.array([draw(number)]), dtype)[0]) for _ in range(2)]
    elif dtype.kind == "bool":
        values = [draw(st.booleans()) for _ in range(2)]
    else:
        info = np.iinfo(dtype.numpy)
        values = [draw(st.integers(int(info.min), int(info.max))) for _ in range(2)]
    index = draw(st.lists(st.integers(0, 1 << 40), max_size=4))
    ulp = draw(st.none() | st.integers(0, 2**64 - 2))
    return model.Mismatch(
        tuple(index), *values, ulp, draw(TEXT), draw(st.none() | st.just(values[0]))
    )


@st.composite
def comparisons(draw):
    dtype = DTYPES[draw(st.sampled_from(["float16", "bfloat16", "float64", "uint64", "bool"]))]
    cells = draw(st.lists(st.text(".azAZ", min_size=3, max_size=3), max_size=4))
    ulps = st.lists(st.tuples(st.integers(0, 64), st.integers(0, 2**53)), max_size=4)
    picture = model.Picture((2, 3), tuple(draw(ulps)), 3, tuple(cells))
    return model.Comparison(
        draw(TEXT),
        draw(st.none() | st.sampled_from([*model.FAILURES, "undecided"])),
        detail=draw(TEXT),
        dtype=draw(st.none() | st.just(dtype)),
        wrong=draw(st.integers(0, 2**60)),
        unjudged=draw(st.integers(0, 9)),
        used=draw(SHARES),
        worst=tuple(draw(st.lists(mismatches(dtype), max_size=3))),
        picture=draw(st.none() | st.just(lambda: picture)),
    )


def results():
    case = st.builds(
        replace,
        st.just(CASE),
        id=TEXT.filter(bool),
        op=st.builds(model.OpVersion, TEXT, TEXT, st.integers(1, 99)),
        row=st.none() | TEXT,
        rule=st.sampled_from(["must", "should", "open"]),
        clause=TEXT,
        source=st.builds(model.Source, TEXT, st.integers(0), st.integers(0), st.booleans()),
    )
    return st.builds(
        model.LiveResult,
        case,
        st.just("acme"),
        st.sampled_from(model.Verdict),
        reason=TEXT,
        failure=st.none() | st.sampled_from(model.FAILURES),
        refused=st.booleans(),
        inexpressible=st.booleans(),
        beyond=st.booleans(),
        self_check=st.booleans(),
        alternative=st.none() | TEXT,
        comparisons=st.lists(comparisons(), max_size=2).map(tuple),
        known=st.none()
        | st.builds(
            model.Known,
            TEXT,
            st.none() | TEXT,
            TEXT,
            line=st.none() | st.integers(1, 1 << 30),
            text=TEXT,
            expected=TEXT,
        ),
        unexpected=st.booleans(),
        found=st.none() | st.sampled_from(model.Verdict),
        diagnoses=st.lists(st.builds(model.Diagnosis, st.none() | TEXT, TEXT), max_size=2).map(
            tuple
        ),
        printed=TEXT,
        seconds=st.floats(0, 1e9),
    )


@given(results())
def test_every_result_is_read_as_its_record_was(result):
    one = recorded(result)
    run = model.Run(header("acme"), (one,), model.Ending(True, 0, ""))
    data = "\n".join(lines_of(run)).encode()
    assert data.isascii()
    found = store.read(Path("it"), io.BytesIO(data))
    assert found == run
    assert hash(found.records[0].digest) == hash(one.digest)


INFOS = st.builds(
    model.BackendInfo,
    TEXT,
    TEXT,
    TEXT,
    accumulate=st.lists(TEXT).map(tuple),
    engine=st.booleans(),
    repeatable=st.booleans(),
    devices=st.lists(TEXT).map(tuple),
    threads=st.none() | st.integers(0, 99),
    of=st.none() | TEXT,
)


@given(
    infos=st.lists(INFOS, max_size=3, unique_by=lambda info: info.address),
    options=st.dictionaries(TEXT, TEXT),
    texts=st.lists(TEXT, min_size=4, max_size=4),
    flags=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_every_header_and_footer_is_read_as_it_was(infos, options, texts, flags):
    about = replace(
        header(cases=0),
        backends=tuple(infos),
        selection=texts[0],
        options=options,
        paths=(texts[1],),
        seed=7,
        known=flags[0],
        strict=flags[1],
        require_supported=flags[2],
        named=flags[3],
    )
    run = model.Run(about, (), model.Ending(True, 5, texts[2], 0.5, (texts[3],)))
    assert store.read(Path("it"), io.BytesIO("\n".join(lines_of(run)).encode())) == run


@pytest.mark.parametrize("count", range(1, 6))
def test_a_run_that_was_killed_is_incomplete_and_keeps_what_it_had(file, count):
    found = store.read(file(LINES[:count]))
    assert found == model.Run(HEADER, RECORDS[: count - 1], None)
    assert not found.complete
    assert outcome(found)[0] is Exit.UNUSABLE


def test_a_run_that_was_interrupted_is_incomplete(file):
    run = model.Run(HEADER, RECORDS[:3], replace(ENDING, complete=False))
    assert store.read(file(lines_of(run))) == run
    assert not run.complete


def test_a_file_cut_short_anywhere_is_incomplete_or_unreadable_and_never_whole(tmp_path, wording):
    data = ("\n".join(LINES) + "\n").encode()
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")]
    path = tmp_path / "run.jsonl"
    complaints = set()
    # Within a line every byte is like the next: each beside a line's end, and of others some.
    beside = {place + step for place in ends for step in range(-8, 9)}
    for length in sorted({*range(0, len(data), 7), *beside} & set(range(len(data)))):
        path.write_bytes(data[:length])
        if length < ends[0]:
            [said] = complaint(path)
            assert said.startswith(":1:1: " if length else ": ")
            complaints.add(said)
            continue
        found = store.read(path)
        # The last line break is no part of what is said.
        assert found.complete is (length == len(data) - 1)
        assert found.records == RECORDS[: sum(end <= length for end in ends[1:5])]
        assert length == len(data) - 1 or outcome(found)[0] is Exit.UNUSABLE
    assert sorted(complaints) == wording


ELSEWHERE = "has another place or digest than other lines say"


@pytest.mark.parametrize(
    ("number", "path", "value", "said"),
    [
        (1, ("cases",), -1, "cases: Input should be greater than or equal to 0, got -1"),
        (1, ("cases",), 1, "cases: must be all of the suite, or those of a shard"),
        (1, ("shard",), [0, 3], "shard: must be [i, n] with 1 <= i <= n"),
        (1, ("shard",), [4, 3], "shard: must be [i, n] with"),
        (1, ("shard",), [1], "shard.1: Field required"),
        (1, ("strict",), 1, "strict: Input should be a valid boolean, got 1"),
        (
            1,
            ("level",),
            "all",
            "level: Input should be 'smoke', 'core', 'deep' or 'huge', got 'all'",
        ),
        (1, ("backends", 1, "address"), "acme", "a backend must occur once"),
        (1, ("backends", 1, "threads"), "2", "backends.1.threads: Input should be a valid int"),
        (1, ("environment", "more"), 1, "environment.more: Unexpected keyword argument, got 1"),
        (1, ("started",), "yesterday", "started: Invalid isoformat string: 'yesterday'"),
        (1, ("started",), "", "started: Invalid isoformat string"),
        (1, ("\x1b[2J",), 1, "�[2J: Extra inputs are not permitted, got 1"),
        (1, ("more",), 1, "more: Extra inputs are not permitted, got 1"),
        (2, ("verdict",), "passed", "verdict: Input should be 'pass', 'known', 'warn', 'fail'"),
        (2, ("verdict",), None, "verdict: Input should be 'pass', 'known', 'warn', 'fail'"),
        (2, ("failure",), "lost", "failure: Input should be 'count', 'type'"),
        (2, ("self",), "no", "self: Input should be a valid boolean, got 'no'"),
        (2, ("self_check",), True, "self_check: Extra inputs are not permitted"),
        (2, ("place",), 2, f"'Hardmax/first_of_ties@dtype=float32#axis_0' {ELSEWHERE}"),
        (2, ("place",), 1, f"'Hardmax/first_of_ties@dtype=float32#axis_0' {ELSEWHERE}"),
        (2, ("place",), 1.0, "place: Input should be a valid integer, got 1.0"),
        (2, ("backend",), "nobody", "the header knows no backend 'nobody'"),
        (2, ("backend",), "\x1b[31m", r"the header knows no backend '\x1b[31m'"),
        (2, ("seconds",), -1, "seconds: Input should be greater than or equal to 0, got -1"),
        (2, ("used",), 0.5, "used and unjudged must be those of the comparisons"),
        (2, ("unjudged",), 1, "used and unjudged must be those of the comparisons"),
        (2, ("type",), "record", "Input tag 'record' found using 'type_'"),
        (3, ("backend",), "acme", "the result of 'acme' on 'Hardmax/first_of_ties@dtype=float32#a"),
        (3, ("digest",), "other", f"'Hardmax/first_of_ties@dtype=float32#axis_0' {ELSEWHERE}"),
        (3, ("comparisons", 0, "used"), "-inf", "comparisons.0.used: Input should be a valid num"),
        (3, ("comparisons", 0, "used"), -1, "comparisons.0.used: Input should be greater than"),
        (3, ("comparisons", 0, "worst", 0, "ulp"), "4", "comparisons.0.worst.0.ulp: Input shou"),
        (3, ("comparisons", 0, "worst", 0, "index"), 4, "comparisons.0.worst.0.index: Input sh"),
        (3, ("comparisons", 0, "picture", "cells"), [".."] * 65, "comparisons.0.picture.cells: "),
        (3, ("comparisons", 0, "picture", "cells"), ["..", "."], "comparisons.0.picture: cells: "),
        (3, ("comparisons", 0, "picture", "cells"), ["<b>"], "comparisons.0.picture.cells.0: "),
        (3, ("comparisons", 0, "picture", "ulps"), [[65, 1]], "comparisons.0.picture.ulps.0"),
        (4, ("case",), "Hardmax/three", f"'Hardmax/two' {ELSEWHERE}"),
        (6, ("totals", "acme", "pass"), 2, "the footer's totals are not those of the results"),
        (6, ("totals",), {}, "the footer's totals are not those of the results (lines are missing"),
        (
            6,
            ("revised",),
            [{"case": "Hardmax/two", "backend": "nobody", "diagnoses": []}],
            "revised: there is no such result",
        ),
        (6, ("complete",), "yes", "complete: Input should be a valid boolean, got 'yes'"),
        (6, ("exit_code",), None, "exit_code: Input should be a valid integer, got null"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(file, number, path, value, said):
    told = complaint(file(made.changed(LINES, number, path, value)))
    # What contradicts another line is told at the later one.
    places = [f":{line}:1: {said}" for line in range(number, number + 3)]
    assert any(one.startswith(tuple(places)) for one in told)


def test_a_third_case_of_two_is_told(file, wording):
    about = replace(HEADER, suite=model.Suite("5eed", 5), shard=(1, 2))
    more = record(id="Hardmax/three", place=3)
    lines = lines_of(replace(RUN, header=about, records=(*RECORDS, more)))
    assert complaint(file(lines))[0] == wording


def test_a_complete_run_has_all_results(file, wording):
    [said] = complaint(file(lines_of(replace(RUN, records=RECORDS[:3]))))
    assert said == wording


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_no_measure_is_a_number_that_json_has_not(file, word):
    line = LINES[2].replace('"used":"inf"', f'"used":{word}')
    assert line != LINES[2]
    [said] = complaint(file([*LINES[:2], line, *LINES[3:5]]))
    assert said.startswith(":3:1: used: ")


@pytest.mark.parametrize(
    ("field", "repeated"),
    [
        ('"verdict":', '"verdict":"pass","verdict":'),
        ('"output":', '"output":"Z","output":'),
    ],
)
def test_no_field_is_there_twice(file, field, repeated):
    """A reader takes one of them, and another reader the other."""
    line = LINES[2].replace(field, repeated, 1)
    assert line != LINES[2]
    [said] = complaint(file([*LINES[:2], line, *LINES[3:5]]))
    assert said.startswith(f":3:1: {field[1:-2]}: ")


def test_a_line_of_300_mb_is_refused_and_never_held(tmp_path, wording):
    path = tmp_path / "run.jsonl"
    with path.open("wb") as out:
        out.write(f"{LINES[0]}\n".encode())
        out.truncate(300_000_000)  # zeros that take no room
    tracemalloc.start()
    try:
        assert complaint(path) == [wording]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 3 * store.LONGEST


@pytest.mark.gate
def test_twenty_thousand_results_are_read_in_seconds(tmp_path):
    count = 10_000
    names = "acme", "bolt?threads=2"
    fails = [record(model.Verdict.FAIL, n, comparisons=(WRONG,), id="@", place=0) for n in names]
    about = replace(HEADER, cases=count, suite=model.Suite("5eed", count))
    path = tmp_path / "run.jsonl"
    texts = [store.record(one).replace('"case":"@"', '"case":"@%d"') for one in fails]
    with path.open("w", encoding="utf-8") as out:
        out.write(store.header(about) + "\n")
        for place in range(count):
            for text in texts:
                out.write(text.replace("%d", str(place)).replace('"place":0', f'"place":{place}'))
                out.write("\n")
    began = time.process_time()
    found = store.read(path)
    assert time.process_time() - began < 10
    assert len(found.records) == 2 * count


WHOLE = "\n".join(LINES).encode()


@given(data=made.damaged(WHOLE))
def test_a_damaged_file_is_refused_or_can_be_written_again(tmp_path_factory, data):
    found = made.unless_refused(store.read, tmp_path_factory, data)
    if found is not None:
        again = "\n".join(lines_of(found)).encode()
        assert made.unless_refused(store.read, tmp_path_factory, again) == found
