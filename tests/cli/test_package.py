"""`opcheck pack` and `opcheck verify` on runs of fakes."""

import hashlib
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from opcheck.suite import suite_digest
from tests.wording import lines_with


@pytest.fixture
def packed(run, keep):
    """Packs a run of a backend, after a `change` of the outputs."""

    def packed(backend, change=lambda: None):
        run_file = keep("run.jsonl", backend, words=["--save-outputs", "outputs"])
        change()
        run("pack", run_file, "outputs", "-o", "it.zip", code=0)
        return "it.zip"

    return packed


def rewritten(name, change, add=()):
    """A package whose files are changed: `change` of a name and its bytes gives others, or None."""
    with zipfile.ZipFile(name) as old, zipfile.ZipFile("other.zip", "w") as new:
        for one in old.namelist():
            if (data := change(one, old.read(one))) is not None:
                new.writestr(one, data)
        for one in add:
            new.writestr(one, b"")
    return "other.zip"


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path)])
def test_what_is_no_file_is_refused_at_once(make, run, wording):
    make(Path("it.zip"))
    assert run("verify", "it.zip", code=2).stderr == wording


def test_right_and_wrong_verdicts_are_confirmed(run, packed, wording):
    for backend, counts in (("right", "4 pass, 1 fail"), ("last_of_ties", "4 fail, 1 warn")):
        found = run("verify", packed(backend), "cases.yaml", code=0)
        assert counts in found.stdout
        assert found.stdout.splitlines()[-2:] == wording


def test_a_verdict_that_the_outputs_do_not_bear_out_is_told(run, packed, keep, wording):
    keep("wrong.jsonl", "last_of_ties", words=["--save-outputs", "wrong"])

    def change():
        for path in Path("wrong").rglob("output_0.pb"):
            shutil.copy(path, Path("outputs") / path.relative_to("wrong"))

    found = run("verify", packed("right", change), "cases.yaml", code=1)
    assert lines_with(found.stdout, "Hardmax/ties: handed in as") == wording
    assert "verdicts not confirmed" in found.stdout


def test_what_leaves_no_output_stands_as_it_was_handed_in(run, packed, wording):
    found = run("verify", packed("declines"), "cases.yaml", code=5)
    assert lines_with(found.stdout, "0 verdicts confirmed, 5 as") == wording


def test_a_package_of_other_cases_is_not_judged_by_those_here(run, packed, wording):
    name, cases = packed("right"), Path("cases.yaml")
    out = run("verify", name, code=4).stdout
    assert lines_with(out, "exit 4:") == wording
    cases.write_text(cases.read_text().replace("[[3, 3, 1], ", "[[4, 4, 1], "))
    out = run("verify", name, "cases.yaml", code=4).stdout
    assert lines_with(out, "exit 4:") == wording


@pytest.mark.parametrize(
    ("change", "add"),
    [
        (lambda name, data: data + b" " if "output_0" in name else data, ()),
        (lambda name, data: None if "output_0" in name else data, ()),
        (lambda name, data: None if name == "SHA256SUMS" else data, ()),
        (lambda name, data: data, ["outputs/../model.onnx"]),
        (lambda name, data: data, ["outputs/a/b.sh"]),
        (lambda name, data: data, ["outputs/a/error.txt"]),
    ],
)
def test_what_was_not_packed_is_refused(run, packed, change, add, wording):
    name = rewritten(packed("right"), change, add)
    assert run("verify", name, "cases.yaml", code=2).stderr == wording
    Path("cut.zip").write_bytes(Path(name).read_bytes()[:-100])
    assert run("verify", "cut.zip", code=2).stderr == wording


def forged(name, header=None, keep=lambda one: True, origin=None, digest=True):
    """A package whose run and sums a stranger rewrote, so that they fit each other.

    `header` and `origin` change the header of the run and what states whose outputs these are;
    results that `keep` refuses are dropped; `digest`: that of the suite is made to fit.
    """
    with zipfile.ZipFile(name) as old:
        files = {one: old.read(one) for one in old.namelist() if one != "SHA256SUMS"}
    first, *results, last = map(json.loads, files["run.jsonl"].splitlines())
    results = [one for one in results if keep(one)]
    for place, one in enumerate(results):
        one["place"] = place
    first["cases"] = len(results)
    pairs = [(one["case"], one["digest"]) for one in results]
    first["suite"]["cases"] = len(results)
    if digest:
        first["suite"]["digest"] = suite_digest(pairs)
    (header or dict)(first)
    counts = {}
    for one in results:
        counts[one["verdict"]] = counts.get(one["verdict"], 0) + 1
    last["totals"] = {first["backends"][0]["address"]: counts}
    lines = (json.dumps(one) for one in (first, *results, last))
    files["run.jsonl"] = "".join(f"{line}\n" for line in lines).encode()
    marker = json.loads(files["outputs/opcheck.json"])
    (origin or dict)(marker["backend"])
    files["outputs/opcheck.json"] = json.dumps(marker).encode()
    with zipfile.ZipFile("forged.zip", "w") as new:
        for one, data in files.items():
            new.writestr(one, data)
        sums = (f"{hashlib.sha256(data).hexdigest()}  {one}\n" for one, data in files.items())
        new.writestr("SHA256SUMS", "".join(sums))
    return "forged.zip"


def test_what_was_not_forged_is_confirmed(run, packed):
    assert run("verify", forged(packed("right")), "cases.yaml", code=0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accumulate", ["float16"]),
        ("refuses", False),
        ("engine", True),
        ("version", "2"),
        ("kind", "other"),
        ("address", "other"),
        ("threads", 7),
        ("devices", ["npu"]),
    ],
)
def test_outputs_of_another_backend_than_the_run_s_are_refused(run, packed, field, value):
    name = forged(packed("right"), origin=lambda backend: backend.update({field: value}))
    told = run("verify", name, "cases.yaml", code=2).stderr
    assert f"opcheck.json states {field} " in told


def test_what_a_backend_declares_is_shown(run, packed, wording):
    def poorer(backend):
        backend.update(accumulate=["float16"], refuses=False)

    name = forged(packed("right"), lambda header: poorer(header["backends"][0]), origin=poorer)
    out = run("verify", name, "cases.yaml").stdout
    assert lines_with(out, "it declares: computes") == wording


def is_no_failure(one):
    return one["verdict"] != "fail"


def test_dropped_results_are_noticed_by_the_digest(run, packed, wording):
    name = forged(packed("right"), keep=is_no_failure, digest=False)
    told = run("verify", name, "cases.yaml", code=2).stderr
    assert lines_with(told, "its 4 results are") == wording


def test_dropped_results_are_noticed_by_the_cases_here(run, packed, wording):
    name = forged(packed("right"), keep=is_no_failure)
    found = run("verify", name, "cases.yaml", code=4)
    assert lines_with(found.stdout, "1 case of its") == wording


def test_a_narrower_selection_is_shown_with_how_many_cases_there_are(run, packed, wording):
    def narrower(header):
        header["selection"] = "keywords easy, level core"

    name = forged(packed("right"), narrower, keep=is_no_failure)
    found = run("verify", name, "cases.yaml", code=0)
    assert lines_with(found.stdout, "its run: keywords") == wording
    assert found.stdout.splitlines()[-1] == wording


FORGERY = "1\nexit 0: 90,536 verdicts are confirmed\n\x1b[2K\x1b[1A"


def test_texts_of_a_stranger_stay_in_their_line(run, packed):
    def forge(header):
        for name in ("opcheck", "platform", "python"):
            header["environment"][name] = FORGERY
        header["selection"] = header["backends"][0]["version"] = FORGERY
        header["paths"] = [FORGERY]

    name = forged(packed("right"), forge, origin=lambda backend: backend.update(version=FORGERY))
    found = run("verify", name, "cases.yaml", code=0)
    assert [line for line in found.stdout.splitlines() if line.startswith("exit")] == [
        found.stdout.splitlines()[-1]
    ]
    assert "\x1b" not in found.stdout


def test_names_of_a_stranger_s_cases_stay_in_their_line(run, packed):
    def renamed(one):
        one["case"] = f"{one['case']}{FORGERY}"
        return True

    found = run("verify", forged(packed("right"), keep=renamed), "cases.yaml", code=4)
    assert sum(line.startswith("exit") for line in found.stdout.splitlines()) == 1


def test_an_incomplete_run_is_no_package(run, packed, wording):
    with zipfile.ZipFile(packed("right")) as old:
        lines = old.read("run.jsonl").splitlines(keepends=True)
        files = {one: old.read(one) for one in old.namelist() if one != "SHA256SUMS"}
    files["run.jsonl"] = b"".join(lines[:-1])
    with zipfile.ZipFile("cut.zip", "w") as new:
        for one, data in files.items():
            new.writestr(one, data)
        sums = (f"{hashlib.sha256(data).hexdigest()}  {one}\n" for one, data in files.items())
        new.writestr("SHA256SUMS", "".join(sums))
    assert run("verify", "cut.zip", "cases.yaml", code=2).stderr == wording


def test_a_run_is_packed_with_its_own_outputs_alone(run, keep, wording):
    both = keep("both", "right", "declines")
    keep("one", "right", words=["--save-outputs", "outputs"])
    assert run("pack", both, "outputs", "-o", "x", code=2).stderr == wording
    Path("empty").mkdir()
    assert run("pack", "one", "empty", "-o", "x", code=2).stderr == wording
    Path("outputs/more.txt").write_text("")
    assert "did not write: more.txt" in run("pack", "one", "outputs", "-o", "x", code=2).stderr


def test_a_run_of_no_backend_is_no_package(run, packed, wording):
    with zipfile.ZipFile(packed("right")) as old:
        files = {one: old.read(one) for one in old.namelist() if one != "SHA256SUMS"}
    first, *_, last = map(json.loads, files["run.jsonl"].splitlines())
    first |= {"backends": [], "cases": 0, "suite": {"cases": 0, "digest": suite_digest([])}}
    last["totals"] = {}
    files["run.jsonl"] = "".join(f"{json.dumps(one)}\n" for one in (first, last)).encode()
    with zipfile.ZipFile("other.zip", "w") as new:
        for one, data in files.items():
            new.writestr(one, data)
        sums = (f"{hashlib.sha256(data).hexdigest()}  {one}\n" for one, data in files.items())
        new.writestr("SHA256SUMS", "".join(sums))
    assert run("verify", "other.zip", "cases.yaml", code=2).stderr == wording
