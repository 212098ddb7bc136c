"""Every way in which a gate could be green without a reason: it is not, and says why."""

import datetime as real_datetime
import json
import os
import re
import sys
import time
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from opcheck.errors import Exit
from opcheck.report import store
from tests.cli.conftest import ROOT, environment
from tests.cli.test_run import CASES
from tests.wording import lines_with

GREEN = int(Exit.CONFORMS)
#: All but one of the cases that `right` gets right.
WORDS = ["run", "cases.yaml", "-k", "not nan"]


@pytest.fixture(scope="module")
def stored() -> dict[str, bytes]:
    """The file `whole` of the run that each test begins with, once it was made."""
    return {}


@pytest.fixture(autouse=True)
def cases(run, tmp_path, stored):
    (tmp_path / "cases.yaml").write_text(CASES)
    whole = tmp_path / "whole"
    if not stored:
        assert run(*WORDS, "-b", "right", "--report", "json=whole").exit_code == GREEN
        stored["whole"] = whole.read_bytes()
    whole.write_bytes(stored["whole"])


def last(found):
    return found.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["cases.yaml", "-k", "nothing"], 5),
        (["cases.yaml", "--level", "smoke"], 5),
        (["cases.yaml", "--shard", "6/6"], 5),
        (["cases.yaml", "--lf", "whole"], 5),
        (["cases.yaml", "--dtype", "float16"], 5),
        (["cases.yml"], 2),
        (["empty"], 2),
    ],
)
def test_no_case(run, tmp_path, words, code, wording):
    (tmp_path / "empty").mkdir()
    found = run("run", *words, "-b", "right", code=code)
    assert (last(found) if code == 5 else found.stderr) == wording


def test_half_of_the_cases_were_lost(run, tmp_path):
    lines = CASES.splitlines(keepends=True)
    (tmp_path / "cases.yaml").write_text("".join(lines[: len(lines) // 2]))
    # What is left is a case file like any other: nobody can tell but who counted.
    assert run(*WORDS, "-b", "right").exit_code == GREEN
    found = run(*WORDS, "-b", "right", "--expect-cases", "4", code=2)
    assert "--expect-cases 4: there are 3 cases" in found.stderr
    found = run(*WORDS, "-b", "right", "--report", "json=half")
    assert run("diff", "whole", "half").exit_code == 1
    assert run("merge", "whole", "half", "-o", "joined").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["-b", "declines", "-k", "not nan"],
        ["-b", "right", "-b", "lacks_float32", "-k", "not nan"],
        # Of what is selected, a refusal of an invalid model is all that it shows.
        ["-b", "lacks_float32", "-k", "out_of_range"],
        ["-b", "declines_opset_13", "-b", "right", "-k", "out_of_range"],
    ],
)
def test_all_is_unsupported(run, words):
    found = run("run", "cases.yaml", *words, code=5)
    assert re.search("exit 5: .* judged: ", last(found))
    assert "supported no case" in last(found)
    assert run("run", "cases.yaml", *words, "--require-supported").exit_code == 1


def test_a_backend_that_calls_cases_not_expressible_is_not_believed(run, tmp_path, wording):
    ledger = (
        "backend: claims\nknown:\n- {verdict: fail, cause: x, where: [{op: Hardmax, name: nan}]}\n"
    )
    (tmp_path / "known.yaml").write_text(ledger)
    words = ("run", "cases.yaml", "-k", "many_ties", "-b", "claims")
    assert last(run(*words, "--require-supported", code=1)).endswith(": 1 unsupported")
    assert last(run(*words, "--known", "known.yaml", code=1)).endswith(": 1 unsupported")
    # As for any other backend without a kernel, the exit code is 5 if nothing is required.
    assert last(run(*words, code=5)) == wording


def test_what_opcheck_itself_cannot_feed_is_red_if_support_is_required(run, tmp_path, wording):
    pytest.importorskip("tract", reason="not installed: tract")
    case = "{name: texts, inputs: {X: [a], Y: [b]}, expect: {Z: [ab]}}"
    (tmp_path / "texts.yaml").write_text(
        f"op: StringConcat\nopset: 20\ndtype: string\ncases:\n- {case}\n"
    )
    words = ("run", "texts.yaml", "-b", "tract")
    assert last(run(*words, code=5)) == wording
    assert last(run(*words, "--require-supported", code=1)) == wording


def test_keywords_select_only_what_is_unsupported(run, tmp_path, wording):
    halves = CASES + CASES[CASES.index("- name: many_ties") :].split("- name: axis")[0].replace(
        "many_ties", "in_float64\n  dtype: float64"
    )
    (tmp_path / "cases.yaml").write_text(halves)
    words = ["run", "cases.yaml", "-b", "onnxruntime"]
    assert run(*words, "-k", "ties or float64").exit_code == GREEN
    assert last(run(*words, "-k", "float64", code=5)) == wording


@pytest.mark.parametrize("backend", ["py:nowhere:NONE", "onnxruntime:NoSuchExecutionProvider"])
def test_one_of_two_backends_is_missing(run, backend):
    found = run(*WORDS, "-b", "right", "-b", backend, "--report", "json=new")
    assert found.exit_code in (2, 4)
    assert found.stdout == ""
    assert not Path("new").exists()


@pytest.mark.parametrize("again", [[], ["--repeat", "2"], ["--require-supported"]], ids=" ".join)
def test_a_backend_falls_back_to_another_device_in_silence(run, again, wording):
    found = run(*WORDS, "-b", "right", "-b", "falls_back", *again, code=4)
    assert lines_with(found.stdout, "asked for the NPU,") == wording


DYING = """
import os, threading, time

class Before:
    threading.Timer(0, os._exit, [0]).start()
    time.sleep(30)

"""
LATER = """
import os, threading

class Later:
    def __init__(self):
        threading.Timer(0.2, os._exit, [0]).start()

    def prepare(self, task):
        threading.Event().wait()

class Quits:
    def prepare(self, task):
        raise SystemExit(0)

class Leaves:
    def prepare(self, task):
        os._exit(0)
"""


@pytest.mark.parametrize(
    ("backend", "code"),
    [("before:Before", 4), ("later:Later", 1), ("later:Quits", 1), ("later:Leaves", 1)],
)
def test_a_worker_ends_as_if_all_was_well(run, tmp_path, monkeypatch, backend, code):
    (tmp_path / "before.py").write_text(DYING)
    (tmp_path / "later.py").write_text(LATER)
    run("run", "cases.yaml", "-k", "many_ties", "-b", f"py:{backend}", code=code)


def test_what_is_not_asked_for_refusals_passes_by_values_alone(run, tmp_path, wording):
    answers = "[{as: no, rejected: x, legal: {attrs.axis: 1}}, {as: last, output: [[0, 1]]}]"
    either = f"inputs: {{input: [[1, 2]]}}, attrs: {{axis: 2}}, expect: {{any_of: {answers}}}"
    (tmp_path / "cases.yaml").write_text(f"{CASES}- {{name: either, rule: open, {either}}}\n")
    asked = "cases.yaml", "-b", "numpy?refuses=false"
    found = run("run", *asked, "-v", code=0)
    assert lines_with(found.stdout, "it declares that") == wording
    assert re.search(r"Hardmax/either +numpy\S* \S+ +1  no\n", found.stdout)
    assert last(found) == wording
    assert last(run("run", *asked, "--require-supported", code=1)).endswith(": 1 unsupported")
    assert "supported no case" in last(run("run", *asked, "-k", "out_of_range", code=5))
    assert "unsupported: float32" in run("support", *asked, "--require", "Hardmax", code=1).stderr


@pytest.mark.parametrize(
    "words",
    [
        ["-b", "right", "-b", "right"],
        [
            "-b",
            "onnxruntime?threads=1&accumulate=float16",
            "-b",
            "onnxruntime?accumulate=float16&threads=1",
        ],
        ["-b", "mine", "-b", "numpy"],
    ],
    ids=" ".join,
)
def test_two_backends_of_one_name(run, tmp_path, words, wording):
    if "mine" in words:
        (tmp_path / "opcheck.toml").write_text('[backends.numpy]\naddress = "reference"\n')
    assert run(*WORDS, *words, code=2).stderr == wording


def test_one_name_for_two_backends_in_runs_that_are_joined(run, tmp_path):
    for number, address in enumerate(["numpy", "reference"], 1):
        (tmp_path / "opcheck.toml").write_text(f'[backends.mine]\naddress = "{address}"\n')
        words = ["--shard", f"{number}/2", "--report", f"json=part-{number}"]
        run(*WORDS, "-b", "mine", *words)
    assert "'mine' has " in run("merge", "part-1", "part-2", "-o", "joined", code=2).stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ("raise SystemExit(0)", ["-b", "py:tests.cli.fakes:NARROW"], 1),
        ("raise ImportError", ["-b", "py:tests.cli.fakes:RIGHT"], 0),
    ],
)
def test_a_file_beside_the_cases_is_called_like_a_module_of_opcheck_s(
    start, tmp_path, text, words, code
):
    (tmp_path / "yaml.py").write_text(text)
    process = start(*WORDS, *words, cwd=tmp_path, fresh=True)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert out.splitlines()[-1].startswith(f"exit {code}: ")


def test_opcheck_itself_is_broken(start, tmp_path):
    (tmp_path / "yaml.py").write_text("raise ImportError('of another NumPy')")
    own = environment(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    process = start(*WORDS, "-b", "numpy", cwd=tmp_path, env=own, fresh=True)
    out, err = process.communicate(timeout=60)
    # Python would say 1, which is a verdict.
    assert (process.returncode, out) == (4, "")
    assert "ImportError: of another NumPy" in err


ONE = "output: [[0.1, 0.2, 0.7]]"


@pytest.mark.parametrize(
    ("more", "backends"),
    [
        ("", ["zeros"]),
        (f"expect: {{{ONE}}}, ", ["zeros"]),
        ("expect: {agree: true}, ", ["zeros", "numpy"]),
        ("expect: {oracle: reference}, ", ["zeros"]),
        (
            f"rule: open, expect: {{any_of: [{{as: a, {ONE}}}, {{as: b, output: [[0, 0, 1]]}}]}}, ",
            ["zeros"],
        ),
    ],
)
def test_a_tolerance_that_admits_all_that_the_operator_can_answer(
    run, tmp_path, more, backends, wording
):
    case = f"{{name: a, {more}inputs: {{input: [[0, 1, 2]]}}, tolerance: {{rtol: 0, atol: 1}}}}"
    head = "op: Softmax\nopset: 13\ndtype: float32\nattrs: {axis: 1}\ncases:\n"
    (tmp_path / "cases.yaml").write_text(f"{head}- {case}\n")
    found = run("run", "cases.yaml", *(word for name in backends for word in ("-b", name)), code=2)
    assert lines_with(found.stdout, "admits 0 for every") == wording
    assert last(found) == wording


@pytest.mark.parametrize("option", ["--timeout", "--max-fail", "--repeat", "--expect-cases", "-j"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "many", ""])
def test_an_option_without_a_meaning(run, option, value):
    assert run(*WORDS, "-b", "right", option, value).exit_code == 2


def judgements(run, name):
    """The exit codes of all that reads a stored run."""
    return [
        run("report", name).exit_code,
        run("report", name, "--format", "junit").exit_code,
        run("merge", name, "-o", "joined").exit_code,
        run("diff", "whole", name).exit_code,
        run("diff", name, "whole").exit_code,
    ]


def test_a_report_is_cut_short(run):
    data = Path("whole").read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == 0x0A]
    for end in ends[:-1]:
        for size in (end, end + 20):
            Path("cut").write_bytes(data[:size])
            assert judgements(run, "cut") == [4, 4, 4, 4, 4]
    for size in (0, 1, ends[0] // 2):
        Path("cut").write_bytes(data[:size])
        assert judgements(run, "cut") == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("gone", [1, 2, 3, 4])
def test_a_report_lost_a_line(run, gone):
    lines = Path("whole").read_bytes().splitlines(keepends=True)
    del lines[gone]
    Path("cut").write_bytes(b"".join(lines))
    assert judgements(run, "cut") == [2, 2, 2, 2, 2]


@pytest.mark.parametrize("more", [b"\0" * 99, b'{"type":"result"', b"{}\n"])
def test_another_writer_left_something_behind_the_footer(run, more):
    data = Path("whole").read_bytes()
    Path("cut").write_bytes(data + more)
    assert judgements(run, "cut") == [2, 2, 2, 2, 2]
    Path("cut").write_bytes(data + b"\n \n")
    assert judgements(run, "cut")[:2] == [0, 0]


def test_a_shard_of_another_day_and_another_build_is_left_over(run):
    for number in (1, 2):
        run(*WORDS, "-b", "right", "--shard", f"{number}/2", "--report", f"json=part-{number}")
    first, *rest = Path("part-2").read_text().splitlines(keepends=True)
    for days, build, code, said in (
        (0, "a", 0, "right 1.5 was not made of the same everywhere: it"),
        (9, "a", 2, "part-1 and part-2 began 216.0 hours apart, with other files of 'right'"),
        (9, None, 0, "exit 0: joined"),
    ):
        head = json.loads(first)
        head["backends"][0]["made_of"] = {"it": build} if build else {}
        began = datetime.fromisoformat(head["started"]) - timedelta(days=days)
        head["started"] = began.isoformat()
        Path("part-2").write_text("".join([json.dumps(head), "\n", *rest]))
        assert said in run("merge", "part-1", "part-2", "-o", "joined", code=code).output
        if code == 0:
            told = run("report", "joined").output.splitlines()[-1].endswith("everywhere: it")
            assert told is (build == "a")


def test_the_files_of_a_comparison_are_swapped(run, wording):
    first, *rest = Path("whole").read_text().splitlines(keepends=True)
    head = json.loads(first) | {"started": "2020-01-01T00:00:00+00:00"}
    Path("old").write_text("".join([json.dumps(head), "\n", *rest]))
    assert run("diff", "old", "whole").stderr == ""
    assert run("diff", "whole", "old").stderr == wording


def test_a_footer_praises_what_is_not_there(run):
    head, *results, footer = map(json.loads, Path("whole").read_text().splitlines())
    footer["totals"] = {"right": {"pass": len(results) - 1}}
    Path("cut").write_text("\n".join(map(json.dumps, [head, *results[:-1], footer])) + "\n")
    assert judgements(run, "cut") == [2, 2, 2, 2, 2]


def test_an_exit_code_that_is_written_counts_for_nothing(run):
    run("run", "cases.yaml", "-b", "narrow", "--report", "json=new")
    text = Path("new").read_text().replace('"exit_code":1', '"exit_code":0')
    Path("new").write_text(text.replace("does not conform", "conforms"))
    assert run("report", "new").exit_code == 1


def test_a_shard_is_missing(run, wording):
    for number in (1, 2, 3):
        run(*WORDS, "-b", "right", "--shard", f"{number}/3", "--report", f"json=part-{number}")
    found = run("merge", "part-1", "part-3", "-o", "joined", code=4)
    assert found.stderr == wording
    assert run("report", "joined").exit_code == 4
    assert run("merge", "part-1", "part-1", "part-3", "-o", "joined").exit_code == 2
    assert run("diff", "whole", "part-1").exit_code == 4
    run(*WORDS, "-b", "right", "--shard", "2/4", "--report", "json=part-2")
    assert run("merge", "part-1", "part-2", "part-3", "-o", "joined").exit_code == 2
    assert "shard 1 of 3 only" in last(run("report", "part-1"))


def test_a_run_is_held_against_itself(run):
    found = run("diff", "whole", "./whole")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "are one file" in found.stderr


def test_what_an_earlier_command_left_is_not_taken_for_the_run(run):
    Path("new").write_bytes(Path("whole").read_bytes())
    run("run", "cases.yaml", "-b", "narrow", "-x", "--report", "json=new", code=1)
    assert run("report", "new").exit_code == 4


class _Backwards(real_datetime.datetime):
    """A clock that is set back by a day whenever it is looked at."""

    _looked = count()

    @classmethod
    def now(cls, tz=None):
        back = real_datetime.timedelta(days=next(cls._looked))
        return real_datetime.datetime(2031, 2, 3, tzinfo=tz) - back


def test_the_clock_is_set_back(run, monkeypatch):
    days = count()
    monkeypatch.setattr(time, "time", lambda: -86400.0 * next(days))
    monkeypatch.setattr(time, "time_ns", lambda: -86400 * 10**9 * next(days))
    monkeypatch.setattr("opcheck.session.datetime", _Backwards)
    for number in (1, 2):
        words = ["--shard", f"{number}/2", "--report", f"json=part-{number}"]
        assert run(*WORDS, "-b", "right", *words).exit_code == GREEN
    assert run("merge", "part-2", "part-1", "-o", "joined").exit_code == GREEN
    one, other = (store.read(Path(name)) for name in ("whole", "joined"))
    assert [r.case for r in one.records] == [r.case for r in other.records]
    assert all(record.seconds >= 0 for record in other.records)
    assert other.ending is not None
    assert 0 <= other.ending.seconds < 600
    assert run("diff", "whole", "joined").exit_code == GREEN


@pytest.mark.gate
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals")
def test_another_language_and_time_zone(start, tmp_path):
    told = []
    backends = ("-b", "py:tests.cli.fakes:NARROW")
    for changes in (
        {"LC_ALL": "C"},
        {"LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"},
    ):
        words = [*WORDS, *backends, "--format", "json"]
        process = start(*words, cwd=tmp_path, env=environment(**changes), fresh=True)
        out, err = process.communicate(timeout=60)
        assert err == ""
        lines = [json.loads(line) for line in out.splitlines()]
        for line in lines:
            line.pop("started", None)
            line.pop("seconds", None)
        told.append((process.returncode, lines))
    assert told[0] == told[1]
