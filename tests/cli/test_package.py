"""`opcheck pack` and `opcheck verify` on runs of fakes."""

import shutil
import zipfile
from pathlib import Path

import pytest


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


def test_right_and_wrong_verdicts_are_confirmed(run, packed):
    for backend, counts in (("right", "4 pass, 1 fail"), ("last_of_ties", "4 fail, 1 warn")):
        found = run("verify", packed(backend), "cases.yaml", code=0)
        assert counts in found.stdout
        assert found.stdout.endswith(
            "5 verdicts confirmed, 0 as handed in\nexit 0: the verdicts are confirmed\n"
        )


def test_a_verdict_that_the_outputs_do_not_bear_out_is_told(run, packed, keep):
    keep("wrong.jsonl", "last_of_ties", words=["--save-outputs", "wrong"])

    def change():
        for path in Path("wrong").rglob("output_0.pb"):
            shutil.copy(path, Path("outputs") / path.relative_to("wrong"))

    found = run("verify", packed("right", change), "cases.yaml", code=1)
    assert "Hardmax/ties: handed in as pass, it is fail: output: " in found.stdout
    assert "verdicts not confirmed" in found.stdout


def test_what_leaves_no_output_stands_as_it_was_handed_in(run, packed):
    found = run("verify", packed("declines"), "cases.yaml", code=5)
    assert "0 verdicts confirmed, 5 as handed in" in found.stdout


def test_a_package_of_other_cases_is_not_judged_by_those_here(run, packed):
    name, cases = packed("right"), Path("cases.yaml")
    assert "5 cases are not those here: " in run("verify", name, code=4).stdout
    cases.write_text(cases.read_text().replace("[[3, 3, 1], ", "[[4, 4, 1], "))
    assert "are not those here: " in run("verify", name, "cases.yaml", code=4).stdout


@pytest.mark.parametrize(
    ("change", "add", "message"),
    [
        (
            lambda name, data: data + b" " if "output_0" in name else data,
            (),
            "is not what was packed",
        ),
        (lambda name, data: None if "output_0" in name else data, (), "lists other files"),
        (lambda name, data: None if name == "SHA256SUMS" else data, (), "not a package of opcheck"),
        (lambda name, data: data, ["outputs/../model.onnx"], "does not belong in a package"),
        (lambda name, data: data, ["outputs/a/b.sh"], "does not belong in a package"),
        (lambda name, data: data, ["outputs/a/error.txt"], "lists other files"),
    ],
)
def test_what_was_not_packed_is_refused(run, packed, change, add, message):
    name = rewritten(packed("right"), change, add)
    assert message in run("verify", name, "cases.yaml", code=2).stderr
    Path("cut.zip").write_bytes(Path(name).read_bytes()[:-100])
    assert "not a package of opcheck" in run("verify", "cut.zip", code=2).stderr


def test_a_run_is_packed_with_its_own_outputs_alone(run, keep):
    both = keep("both", "right", "declines")
    keep("one", "right", words=["--save-outputs", "outputs"])
    assert "a complete run of one backend" in run("pack", both, "outputs", "-o", "x", code=2).stderr
    Path("empty").mkdir()
    assert "holds no outputs of" in run("pack", "one", "empty", "-o", "x", code=2).stderr
    Path("outputs/more.txt").write_text("")
    assert "did not write: more.txt" in run("pack", "one", "outputs", "-o", "x", code=2).stderr
