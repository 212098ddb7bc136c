"""Whatever a backend does becomes the verdict of the case that made it do so, and of no other."""

import json
import math
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opcheck.backends.isolation import process
from opcheck.model import LiveResult, OutOfMemory, Produced, Verdict
from tests.backends.isolation.asked import (
    FAULTY,
    MEBI,
    answers,
    case_file,
    cases_named,
    pool_of,
    processes_of,
    questions,
    replies,
)
from tests.backends.isolation.faulty import FAULTS

pytestmark = pytest.mark.fresh_workers

ROOT = Path(__file__).parent.parent.parent.parent
TIMEOUT, MEMORY = 1.5, 320 * MEBI

#: What ends the process of the backend: the verdict, how it is told, and what was printed last.
DEADLY = {
    "segfault": (Verdict.CRASH, "killed by SIGSEGV", r"(python: just before\n){2}Fatal .*Segm"),
    "abort": (Verdict.CRASH, "killed by SIGABRT", "fd 2: just before\nFatal .*Aborted"),
    "c_prints_and_aborts": (Verdict.CRASH, "killed by SIGABRT", "C: just before\n"),
    "kills_itself": (Verdict.CRASH, "killed by SIGKILL, as .* memory runs out", ""),
    "terminates_its_group": (Verdict.CRASH, "killed by SIGTERM", ""),
    "exit_0": (Verdict.CRASH, "exited with status 0", ""),
    "exit_3": (Verdict.CRASH, "exited with status 3", ""),
    "alarm": (Verdict.CRASH, "killed by SIGALRM", ""),
    "crash_with_children": (Verdict.CRASH, "killed by SIGABRT", ""),
    "closes_everything": (Verdict.CRASH, "exited with status 1", ""),
    "grows": (Verdict.OOM, "took more than 320 MiB of memory", ""),
    "spike": (Verdict.OOM, "took more than 320 MiB of memory", ""),
    "child_grows": (Verdict.OOM, "took more than 320 MiB of memory", ""),
    "hang": (Verdict.TIMEOUT, "no answer within 1.5 s", "waiting\nwaiting\n"),
    "hang_in_c": (Verdict.TIMEOUT, "no answer within 1.5 s", ""),
    "hang_in_spite_of_signals": (Verdict.TIMEOUT, "no answer within 1.5 s", ""),
    "hang_with_children": (Verdict.TIMEOUT, "no answer within 1.5 s", ""),
    "hang_at_flush": (Verdict.TIMEOUT, "no answer within 1.5 s", ""),
    "stops_itself": (Verdict.TIMEOUT, "no answer within 1.5 s", ""),
    "prints_for_ever": (Verdict.TIMEOUT, "no answer within 1.5 s", "xxxx\nxxxx"),
}
if sys.version_info < (3, 12):  # later ones bound the recursion through C themselves
    DEADLY["overflow"] = (Verdict.CRASH, "killed by SIGSEGV", "")

#: What leaves the process as it is.
BEARABLE = {
    "sys_exit_0": (Verdict.CRASH, "would have left with status 0"),
    "sys_exit_3": (Verdict.CRASH, "would have left with status 3"),
    "odd": (Verdict.ERROR, "Odd: of its own kind"),
    "keyboard_interrupt": (Verdict.ERROR, "KeyboardInterrupt: nobody pressed anything"),
    "generator_exit": (Verdict.ERROR, "GeneratorExit"),
    "unspeakable": (Verdict.ERROR, r"Unspeakable: \(its message cannot be read: SystemExit\)"),
    "surrogates": (Verdict.ERROR, "ValueError: half a character: [\ud800\ufffd]"),
    "long_message": (Verdict.ERROR, r"ValueError: x{2000} … \(52428800 characters\)"),
    "unsupported": (Verdict.UNSUPPORTED, "not here"),
    "memory_error": (Verdict.OOM, "MemoryError in run: no room on the device"),
    "none": (Verdict.FAIL, r"type builtins\.NoneType, want a tensor"),
    "lists": (Verdict.FAIL, "count 8 outputs, want 1"),
    "list_of_lists": (Verdict.FAIL, r"type builtins\.list, want a tensor"),
    "a_dict": (Verdict.FAIL, r"type builtins\.dict, want a tensor"),
    "a_generator": (Verdict.FAIL, r"type builtins\.generator, want a tensor"),
    "nothing": (Verdict.FAIL, "count 0 outputs, want 1"),
    "twice": (Verdict.FAIL, "count 2 outputs, want 1"),
    "many_outputs": (Verdict.FAIL, "count 900 outputs, want 1"),
    "many_numbers": (Verdict.FAIL, "type list of 2,000,000 values, want a tensor"),
    "elsewhere": (Verdict.FAIL, r"type .*faulty\.Elsewhere, want a tensor"),
    "objects": (Verdict.FAIL, "type array of Python objects, want a tensor"),
    "texts": (Verdict.FAIL, "dtype string, want float32"),
    "text": (Verdict.FAIL, r"type builtins\.str, want a tensor"),
    "masked": (Verdict.FAIL, r"type numpy\.ma\.MaskedArray, want a tensor"),
    "structured": (Verdict.FAIL, r"dtype \|V8, want float32"),
    "no_bytes": (Verdict.FAIL, r"dtype \|V0, want float32"),
    "dates": (Verdict.FAIL, r"dtype datetime64\[ns\], want float32"),
    "liar": (Verdict.FAIL, "dtype float64, want float32"),
    "a_scalar": (Verdict.FAIL, r"shape \(\), want \(8, 3\)"),
    "a_number": (Verdict.FAIL, r"type builtins\.float, want a tensor"),
    "its_input": (Verdict.FAIL, "16 of 24 elements wrong"),
    "prints_and_is_wrong": (Verdict.FAIL, "8 of 24 elements wrong"),
    "changes_later": (Verdict.UNSTABLE, "the first result, once the second run is over, differs"),
    "changes_in_a_thread": (Verdict.UNSTABLE, "the first result, .* differs"),
    "modifies_its_inputs": (Verdict.UNSTABLE, "input 0 of run 1 was modified"),
    "reshapes_its_inputs": (Verdict.UNSTABLE, "input 0 of run 1 was modified"),
    **dict.fromkeys(
        """
            honest_subclass matrix backwards other_byte_order forks forks_and_raises leaves_children
            prints closes_its_outputs goes_elsewhere in_a_file replaces_its_outputs patches_numpy
            patches_more handles_signals crashes_at_exit hangs_at_exit
        """.split(),
        (Verdict.PASS, "$"),
    ),
}
#: These reach into the cases after them; they have tests of their own.
APART = {
    *"""
    aborts_later exits_later alarm_later garbage_later allows_itself_no_bytes allows_itself_no_file
    limits_its_memory thread_prints_for_ever huge large echo not_first defect forks_with_much_memory
""".split()
}
#: Of the deadly ones, those in the run of 200 cases: each kind of end once.
MIXED = "segfault kills_itself exit_0 crash_with_children closes_everything grows hang stops_itself"
EXPECTED = {**{name: told[:2] for name, told in DEADLY.items()}, **BEARABLE}


def check(result: LiveResult, fault: str) -> None:
    verdict, reason = EXPECTED[fault]
    assert (result.verdict, bool(re.search(reason, result.reason))) == (verdict, True), result


def test_every_fault_has_its_verdict_here():
    assert EXPECTED.keys() | APART == FAULTS.keys() - ({"overflow"} - EXPECTED.keys())


def alone(fault: str) -> LiveResult:
    limit = MEMORY if EXPECTED[fault][0] is Verdict.OOM else None
    plain = {"PYTHONUNBUFFERED": ""}  # which some have set, and which does a part of the work
    with pool_of("Faulty", timeout=TIMEOUT, memory_limit=limit, environment=plain) as pool:
        [result] = answers(cases_named(f"a__{fault}"), pool)
    return result


@pytest.fixture(scope="module")
def deaths(request: pytest.FixtureRequest) -> dict[str, LiveResult]:
    """Each deadly fault that is asked about, in a pool of its own."""
    asked = [f for f in DEADLY if any(f"_ended[{f}]" in i.nodeid for i in request.session.items)]
    with ThreadPoolExecutor(4) as threads:
        return dict(zip(asked, threads.map(alone, asked), strict=True))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", DEADLY)
def test_the_end_of_a_process_is_a_verdict_that_says_how_it_ended(deaths, fault):
    check(deaths[fault], fault)
    assert re.search(DEADLY[fault][2], deaths[fault].printed)


@pytest.fixture(scope="module")
def survivals() -> dict[str, LiveResult]:
    """The others one after the other in one process, each before a case without a fault."""
    names = [name for fault in BEARABLE for name in (f"a__{fault}", f"after_{fault}")]
    with pool_of("Faulty") as pool:
        results = answers(cases_named(*names), pool)
        assert not pool.idle_deaths
    return dict(zip(names, results, strict=True))


@pytest.mark.parametrize("fault", BEARABLE)
def test_an_exception_or_an_unusable_answer_is_a_verdict_and_harms_no_other_case(survivals, fault):
    check(survivals[f"a__{fault}"], fault)
    assert survivals[f"after_{fault}"].verdict is Verdict.PASS


def test_what_is_printed_is_kept_apart_and_shown_at_its_end_only(survivals, capfd):
    printed = survivals["a__prints_and_is_wrong"].printed
    assert printed.endswith("z\x1b[2Jnot \ufffd text\n\ufffd C\n")
    assert len(survivals["a__prints"].printed) == 8 << 10
    assert survivals["after_prints"].printed == ""
    assert capfd.readouterr() == ("", "")


def test_where_somebody_s_code_raised_is_told_with_the_failure(survivals):
    printed = survivals["a__odd"].printed
    assert re.search(r"^raised at \S+faulty\.py:\d+\n\Z", printed, re.MULTILINE)
    first, *trace = printed.splitlines()
    assert first == "the traceback:"
    assert trace[0].startswith("| Traceback")
    assert any(line.startswith("| tests.backends.isolation.faulty.Odd:") for line in trace)
    assert survivals["a__unsupported"].printed == ""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """The names of 200 cases, in order, and what came of `opcheck run` on them, in time."""
    folder = tmp_path_factory.mktemp("mixed")
    names = [f"c{number}__{fault}" for number, fault in enumerate([*MIXED.split(), *BEARABLE])]
    names += [f"c{number}" for number in range(len(names), 200)]
    random.Random(4).shuffle(names)
    (folder / "tmp").mkdir()
    found = subprocess.run(
        [
            *(sys.executable, "-m", "opcheck", "run", str(case_file(folder, names))),
            *("-b", f"{FAULTY}Faulty", "-j", "2", "--format", "json"),
            *("--timeout", str(TIMEOUT), "--memory-limit", f"{MEMORY // MEBI}MiB"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")},
        capture_output=True,
        timeout=120,
        encoding="utf-8",
    )
    return names, found, folder / "tmp"


@pytest.mark.gate
def test_in_a_run_of_200_cases_with_many_faults_each_case_gets_its_own_verdict(mixed):
    names, found, _ = mixed
    assert (found.returncode, found.stderr) == (1, "")
    _, *records, footer = map(json.loads, found.stdout.splitlines())
    assert footer["complete"]
    # Nothing is lost, nothing comes twice, and the order is kept.
    assert [record["name"] for record in records] == names
    for record in records:
        verdict, reason = EXPECTED.get(record["name"].partition("__")[2], (Verdict.PASS, "$"))
        told = record["verdict"], bool(re.search(reason, record["reason"]))
        assert told == (verdict, True), record


@pytest.mark.gate
def test_it_leaves_no_process_and_no_file(mixed):
    folder = mixed[2]
    assert not processes_of(folder)
    assert not list(folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_peak_of_memory_between_two_measurements_counts(monkeypatch):
    monkeypatch.setattr(process, "_MEASURE", math.inf)
    with pool_of("Faulty", memory_limit=MEMORY) as pool:
        found = replies(pool, questions("a", "b__spike", "c"))
    assert [type(reply.outcome) for reply in found] == [Produced, OutOfMemory, Produced]
