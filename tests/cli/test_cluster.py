"""`--cluster`: what workers of dask.distributed judge, and what one process would say.

The workers here are processes of one cluster, in a folder that has the backends of these tests.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from threading import Timer

import pytest

import opcheck
from opcheck import cluster
from opcheck.backends.base import Defect
from opcheck.errors import BackendUnavailable
from tests.asking import wait_until
from tests.cli.conftest import environment
from tests.cli.test_judges import CASES, answers

pytestmark = pytest.mark.processes

BACKENDS = """
import os, pathlib, signal, time
import psutil

class Backend:
    version = os.environ.get("PLACE", "anywhere")

    def prepare(self, task):
        self.task = task
        return self

    def run(self, inputs):
        return [self.answer(inputs[0])]

class Slow(Backend):
    def answer(self, x):
        time.sleep(0.1)
        return x + ("wrong" in self.task.case)

class Killer(Backend):
    '''Ends the worker where the case says so: always, or once.'''
    def answer(self, x):
        once = pathlib.Path(__file__).with_name("once")
        if "deadly" in self.task.case or ("once" in self.task.case and not once.exists()):
            once.touch()
            psutil.Process().parent().send_signal(signal.SIGKILL)
            time.sleep(30)
        return x

def job(what):
    '''Ends the worker where this says so.'''
    once = pathlib.Path(__file__).with_name("job")
    if what == "deadly" or (what == "once" and not once.exists()):
        once.touch()
        time.sleep(3)  # or it would not be started again
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "deep":
        yield from job(what)
    yield what
"""


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """The address of a scheduler with two workers."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("workers")
    (folder / "mine.py").write_text(BACKENDS)
    sys.path.append(str(folder))  # which workers inherit, those too that are started again
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(**settings, silence_logs=50) as there,
    ):
        yield there.scheduler_address
    sys.path.remove(str(folder))


@pytest.fixture
def asked(run, workers, tmp_path):
    """Runs cases of these names on a backend in mine.py, on the workers."""

    def asked(backend, names, *more, code=None, place=workers):
        lines = [f"- {{name: {name}}}\n" for name in names]
        (tmp_path / "cases.yaml").write_text(CASES + "".join(lines))
        words = ("-b", f"py:mine:{backend}", "--cluster", place, "--format", "json", *more)
        return run("run", "cases.yaml", *words, code=code)

    return asked


def verdicts(found):
    records = answers(found.stdout)
    return {one["case"].partition("/")[2]: one["verdict"] for one in records[1:-1]}


@pytest.mark.seconds(12)
def test_workers_find_what_one_process_finds(run, workers):
    words = "run --op Hardmax --op Relu --level smoke -b reference -b onnxruntime --format json"
    one = run(*words.split())
    found = run(*words.split(), "--cluster", workers, code=one.exit_code)
    assert answers(one.stdout) == answers(found.stdout)
    assert {line.get("verdict") for line in answers(one.stdout)} > {"pass", "known"}


def test_causes_ledgers_and_comparisons_of_backends_are_those_of_one_process(
    run, workers, tmp_path
):
    (tmp_path / "cases.yaml").write_text(
        "op: Relu\nopset: 14\ndtype: float32\ninputs: {X: [1, -1]}\ncases:\n"
        "- {name: computed}\n- {name: compared, expect: {agree: true}, tolerance: {ulp: 0}}\n"
    )
    where = "where: [{op: Relu, name: computed}]"
    ledger = f"backend: reference\nknown:\n- {{cause: made up, verdict: fail, {where}}}\n"
    (tmp_path / "known.yaml").write_text(ledger)
    words = ("run", "cases.yaml", "-b", "numpy", "-b", "reference", "--known", "known.yaml")
    one = run(*words, "--format", "json", code=1)
    found = run(*words, "--format", "json", "--cluster", workers, code=1)
    assert answers(one.stdout) == answers(found.stdout)
    found = [line["verdict"] for line in answers(one.stdout)[1:-1]]
    assert found == ["pass", "unexpected pass", "pass", "pass"]


@pytest.mark.seconds(12)
def test_cells_and_mutants_are_those_of_one_process(run, workers):
    support = "support --op Hardmax -b reference -b onnxruntime --format json"
    require = "support --op Hardmax -b onnxruntime --require Hardmax"
    mutate = "mutate --op Relu --opset 13 --dtype float32 --level smoke -v"
    for words, code in (support, 0), (require, 1), (mutate, None):
        one = run(*words.split(), code=code)
        found = run(*words.split(), "--cluster", workers, code=one.exit_code)
        assert one.stdout == found.stdout != ""
        assert one.stderr == found.stderr
    assert "no jobs on" in run(*mutate.split(), "-j", "2", "--cluster", workers).stderr


@pytest.mark.gate
def test_hosts_time_shares_and_none_unlike_the_others(run, workers, tmp_path, monkeypatch):
    (tmp_path / "cases.yaml").write_text(CASES + "- {name: a}\n- {name: b}\n- {name: c}\n")
    words = "bench cases.yaml -b numpy --quick --seconds 0.2 --save b.jsonl".split()
    run(*words, "--cluster", "local:2", code=0)
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()][1:-1]
    monkeypatch.setattr(cluster.Cluster, "of_hosts", lambda self, _: self._first)
    run(*words, "--cluster", workers, code=0)
    again = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()][1:-1]
    assert [row["case"] for row in rows] == [row["case"] for row in again]
    assert len(rows) == 3
    assert all(row["host"] and row["timings"][0]["samples"]["round"] for row in (*rows, *again))
    unlike = {"processor": ("a", "b")}
    monkeypatch.setattr(cluster.timings, "differences", lambda *_: unlike)
    assert "whose times cannot" in run(*words, "--cluster", workers, code=4).stderr


@pytest.mark.gate
@pytest.mark.parametrize("is_last", [False, True])
def test_a_late_worker_that_is_unfit_is_left_aside(asked, workers, tmp_path, monkeypatch, is_last):
    connect, late = cluster.Cluster.connect, []
    software = "from opcheck import cluster\ncluster.software = lambda: {'opcheck': '0'}\n"
    (tmp_path / "unfit.py").write_text(software)

    def connected(self):
        found, address = connect(self), self._client.scheduler.address
        command = [sys.executable, "-m", "dask", "worker", address, "--preload", "unfit.py"]
        quiet = {"cwd": tmp_path, "env": environment(), "stderr": subprocess.DEVNULL}
        late.append(subprocess.Popen([*command, "--nthreads", "1", "--no-dashboard"], **quiet))
        self._client.wait_for_workers(len(self._first) + 1)
        if is_last:
            self._client.retire_workers(self._first)
        return found

    monkeypatch.setattr(cluster.Cluster, "connect", connected)
    monkeypatch.setattr(cluster, "_PATIENCE", 3)
    names, place = [f"c{number}" for number in range(60)], "local:1" if is_last else workers
    try:
        found = asked("Slow", names, code=4 if is_last else 0, place=place)
    finally:
        late[0].terminate()
        late[0].wait()
    assert found.stderr.count("it has opcheck 0") == 1 + is_last
    assert found.stderr.count("it is not used") == 1
    assert ("has no worker" in found.stderr) is is_last
    assert len(verdicts(found)) == (0 if is_last else 60)


@pytest.mark.gate
def test_a_run_that_stops_early_leaves_the_workers_to_others(asked):
    found = asked("Slow", ["wrong", *(f"c{n}" for n in range(200))], "-x", code=1)
    assert len(verdicts(found)) < 100
    assert len(verdicts(asked("Slow", ["next"], code=0))) == 1


@pytest.mark.gate
@pytest.mark.parametrize(("at", "said"), [("close", "does not answer"), ("connect", "is silent")])
def test_a_worker_that_is_frozen_is_named(asked, monkeypatch, at, said):
    whole, stopped = getattr(cluster.Cluster, at), []

    def frozen(self):
        found = whole(self) if at == "connect" else None
        pid = next(iter(self._client.run(os.getpid).values()))
        os.kill(pid, signal.SIGSTOP)
        stopped.append(Timer(8, os.kill, (pid, signal.SIGCONT)))
        stopped[0].start()
        return found or whole(self)

    monkeypatch.setattr(cluster.Cluster, at, frozen)
    monkeypatch.setattr(cluster, "_FAREWELL", 1)
    monkeypatch.setattr(cluster, "_PATIENCE", 3)
    found = asked("Slow", [f"c{n}" for n in range(20)], code=0)
    # It ends before the worker goes on where nothing is left to be judged there.
    assert stopped[0].is_alive() is (at == "close")
    stopped[0].join()
    assert found.stderr.count(said) == found.stderr.count("opcheck: worker") == 1


def test_cases_that_were_sent_are_not_kept():
    def count():
        gc.collect()
        return sum(type(one) is opcheck.Case for one in gc.get_objects())

    cases = opcheck.load(ops=["Hardmax"])[:20]
    with opcheck.Session(["numpy"], cluster="local:1") as session:
        before = count()
        assert len([*session.run(cases)]) == len(cases)
        wait_until(lambda: count() <= before)


def test_a_run_that_is_left_early_leaves_the_session_usable(workers):
    first, second = (opcheck.load(ops=[op], level="smoke") for op in ("Hardmax", "Relu"))
    with opcheck.Session(["numpy"], cluster=workers) as session:
        next(session.run(first))
        assert [one.case for one in session.run(second)] == [case.id for case in second]


def test_other_software_on_a_worker_is_refused(asked, run, workers, monkeypatch):
    here = {**cluster.environment().packages, "onnx": "1.0"}
    other = replace(cluster.environment(), packages=here)
    monkeypatch.setattr(cluster, "environment", lambda: other)
    monkeypatch.setattr(
        cluster, "Order", partial(cluster.Order, software=cluster.software.__wrapped__())
    )
    error = asked("Slow", "a", code=4).stderr
    assert error.count(": it has onnx 1.2") == 2
    assert "this run onnx 1.0" in error
    for command in ("mutate", "support", "bench"):
        words = command, "--op", "Hardmax", "--cluster", workers
        assert run(*words, code=4).stderr.count(": it has onnx 1.2") == 2


def test_an_oracle_on_a_worker_is_the_one_that_is_here(asked, tmp_path, monkeypatch):
    # It is a profile, of which the workers have no file.
    (tmp_path / "opcheck.toml").write_text("[backends.gold]\naddress = 'py:mine:Killer'\n")
    exact = "expect: {oracle: gold}, tolerance: {ulp: 0}"
    names = [f"right, {exact}", f"wrong, {exact}"]
    trusted = ("--config", "opcheck.toml")
    found = asked("Slow", names, *trusted, code=1)
    assert verdicts(found) == {"right": "pass", "wrong": "fail"}
    monkeypatch.setenv("PLACE", "here")
    assert "gold anywhere" in asked("Slow", names, *trusted, code=4).stderr


@pytest.mark.gate
def test_other_data_on_a_worker_end_the_run(asked, tmp_path, monkeypatch):
    digests = cluster.Recorder.__init__

    def changed(self, cases, backends=()):
        digests(self, cases, backends)
        self.digests = {id: (place, digest[::-1]) for id, (place, digest) in self.digests.items()}

    monkeypatch.setattr(cluster.Recorder, "__init__", changed)
    found = asked("Slow", "a", code=4)
    assert "other data for Identity/a" in found.stderr
    assert verdicts(found) == {}


def test_what_is_wrong_with_a_cluster_is_said(asked, run, tmp_path):
    for place in "local:0", "", "nonsense", "http://127.0.0.1:1":
        assert "write local:4" in asked("Slow", "a", place=place, code=2).stderr
    for command in "mutate", "support", "bench":
        assert "write local:4" in run(command, "--op", "Hardmax", "--cluster", "", code=2).stderr
    assert "dask scheduler" in asked("Slow", "a", place="127.0.0.1:9", code=4).stderr
    assert "no jobs on" in asked("Slow", "a", "-j", "2", code=2).stderr
    assert "leave --cluster out" in asked("Slow", "a", "--save-outputs", "o", code=2).stderr
    for backend in "Nothing", "Slow?bogus=1":
        one = run("run", "cases.yaml", "-b", f"py:mine:{backend}", code=2).stderr
        said, hint = one.removeprefix("opcheck: ").splitlines()
        error = asked(backend, "a", code=2).stderr
        assert error.count(f": {said}") == 2
        assert hint in error.splitlines()
    table = "[backends.board]\naddress = 'py:mine:Slow'\nresources = {adreno740 = 1}\n"
    (tmp_path / "opcheck.toml").write_text(table)
    error = asked("Slow", "a", "-b", "board", code=4).stderr
    assert "worker for board: adreno740 1" in error


# The next two end workers, which are started again: the last of those who share them.


@pytest.mark.gate
def test_a_chunk_of_a_worker_that_ends_is_asked_on_another(asked):
    found = asked("Killer", ["once", *(f"c{n}" for n in range(30))], code=0)
    assert set(verdicts(found).values()) == {"pass"}
    assert len(verdicts(found)) == 31


@pytest.mark.gate
def test_a_case_that_ends_each_worker_has_crashed_and_no_other(asked):
    found = asked("Killer", ["a", "deadly", *"bcdef"], code=1)
    assert verdicts(found).pop("deadly") == "crash"
    assert [*verdicts(found).values()].count("pass") == 6
    assert "ended each worker" in found.stdout


@pytest.mark.gate
def test_a_job_of_a_worker_that_ends_is_done_on_another_or_by_none(workers):
    job = importlib.import_module("mine").job
    with cluster.hired(workers) as there:
        there._unfit["another"] = "not used"  # so that jobs are for those that are there now
        assert sorted(there.run_jobs(job, ["a", "once", "b"])) == ["a", "b", "once"]
        with pytest.raises(BackendUnavailable, match="ended each worker"):
            [*there.run_jobs(job, ["a", "deadly"])]
        # A traceback of so many frames cannot be pickled.
        with pytest.raises(Defect, match="maximum recursion depth"):
            [*there.run_jobs(job, ["deep"])]


@pytest.mark.gate
def test_a_lost_scheduler_ends_the_run_and_nothing_is_green(start, tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "mine.py").write_text(BACKENDS)
    lines = [f"- {{name: c{number}}}\n" for number in range(400)]
    (tmp_path / "cases.yaml").write_text(CASES + "".join(lines))
    own = {"cwd": tmp_path, "env": environment(), "stderr": subprocess.PIPE, "text": True}
    dask = [sys.executable, "-m", "dask"]
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter"]
    with subprocess.Popen([*dask, "scheduler", *options], **own) as scheduler:
        lines = iter(scheduler.stderr.readline, "")
        address = next(line.split()[-1] for line in lines if "Scheduler at:" in line)
        worker = [*dask, "worker", address, "--no-dashboard", "--nthreads", "1"]
        with subprocess.Popen(worker, **own | {"stderr": subprocess.DEVNULL}) as other:
            words = ("run", "cases.yaml", "-b", "py:mine:Slow", "--format", "json")
            found = start(*words, "--cluster", address, cwd=tmp_path)
            found.stdout.readline()
            json.loads(found.stdout.readline())
            scheduler.send_signal(signal.SIGKILL)
            out, error = found.communicate(timeout=100)
            other.terminate()
    assert found.returncode == 4, error
    assert f"{address} was lost" in error
    assert "Traceback" not in error
    assert len(out.splitlines()) < 300
