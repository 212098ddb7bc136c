"""What changed from one run to another, on a terminal and as a page."""

from dataclasses import replace

import pytest

from opcheck.analysis import compare
from opcheck.model import Comparison, Diagnosis, Ending, Known, Run, Verdict
from opcheck.report import diff
from tests.report.made import page_of, record
from tests.report.runs import HOSTILE, hostile, run_of
from tests.report.test_markdown import TAGS, seen
from tests.wording import lines_with

LAST = (Diagnosis("last_of_ties", "the last of equal maxima won"),)
KNOWN = Known("The maximum of a vector's lanes forgets → its NaN.", None, "acme.yaml")


def near(used: float) -> tuple[Comparison, ...]:
    return (Comparison("y", None, used=used),)


OLD = run_of(
    record(),
    record(),
    record(Verdict.KNOWN, known=KNOWN),
    record(),
    record(),
    record(Verdict.FAIL, reason="output: 1 of 6 elements wrong"),
    record(Verdict.FAIL, reason="output: 1 of 6 elements wrong"),
    record(Verdict.WARN),
    record(alternative="first_nan"),
    record(Verdict.CRASH, reason="killed by SIGSEGV"),
    record(),
    record(comparisons=near(0.4)),
    record(),
    record(backend="bolt"),
    ending=Ending(True, 1, ""),
)
NEW = run_of(
    record(Verdict.FAIL, reason="output: 2 of 6 elements wrong", diagnoses=LAST),
    record(Verdict.WARN, reason="too imprecise"),
    record(Verdict.ERROR, reason="raised on a legal model: No"),
    record(Verdict.UNSUPPORTED, reason="no kernel for float32"),
    record(Verdict.NOT_RUN, reason="the backend could not be started again"),
    record(),
    record(Verdict.FAIL, reason="output: 6 of 6 elements wrong"),
    record(),
    record(alternative="skips_nan"),
    record(Verdict.UNSUPPORTED, reason="no"),
    record(Verdict.BAD_CASE, reason="the case contradicts itself"),
    record(comparisons=near(0.75)),
    replace(record(), digest="another"),
)


def newer(run: Run) -> Run:
    """The run of another release on another machine."""
    about = replace(run.header.environment, platform="elsewhere", packages={"numpy": "2.1"})
    backends = tuple(replace(info, version="1.6") for info in run.header.backends)
    header = replace(run.header, environment=about, backends=backends, options={"timeout": "5 s"})
    return replace(run, header=header)


def shown(old, new, width=120, common=False, verbose=False):
    options = {"common": common, "verbose": verbose}
    return page_of(diff.show, old, new, compare(old, new), width=width, **options)


@pytest.mark.parametrize("width", [60, 120])
def test_every_kind_of_change(snapshot, width):
    snapshot(f"diff_{width}", shown(OLD, newer(NEW), width).text)


def test_every_kind_of_change_as_a_page(snapshot):
    new = newer(NEW)
    lines = list(diff.markdown_lines(OLD, new, compare(OLD, new), common=False))
    snapshot("diff_markdown", "\n".join(lines) + "\n")
    assert {tag for tag, _ in seen(lines).tags} <= TAGS | {"h3"}


def test_two_runs_that_are_alike_are_one_line(wording):
    assert shown(OLD, OLD).text == wording


def test_of_many_changes_the_first_are_shown():
    old = run_of(*(record() for _ in range(60)))
    looks = [Diagnosis(f"mistake_{n}", f"mistake {n}") for n in range(60)]
    new = run_of(*(record(Verdict.FAIL, diagnoses=(look,)) for look in looks))
    worse, better = shown(old, new).text, shown(new, old).text
    assert worse.count("pass → fail") == 50
    assert better.count("fail → pass") == 10
    assert "… and 10 more (-v" in worse
    assert "… and 50 more (-v" in better
    assert shown(new, old, verbose=True).text.count("fail → pass") == 60


def test_of_changes_of_one_cause_the_first_is_shown_and_the_others_counted():
    old = run_of(*(record() for _ in range(7)))
    looks = [Diagnosis(name, name) for name in ("mine", "mine", "other", "mine", "mine", "mine")]
    failed = [record(Verdict.FAIL, diagnoses=(look,)) for look in looks]
    new = run_of(*failed, record(Verdict.ERROR, reason="no kernel"))
    text = shown(old, new).text
    assert text.count("pass → fail") == 2
    assert text.count("pass → error") == 1
    assert "and 4 more like" in text
    whole = shown(old, new, verbose=True).text
    assert whole.count("pass → fail") == 6
    assert "more like" not in whole


def test_what_was_left_out_is_told(wording):
    old = run_of(record(), record(backend="bolt"))
    page = shown(old, run_of(record()))
    assert lines_with(page.text, "Left out: 1 result") == wording
    assert lines_with(page.lines[-1], "exit 4: NEW covers fewer") == wording
    assert shown(old, run_of(record()), common=True).lines[-1].startswith("exit 0: no regression")


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_backend_says_is_harmless(text):
    new = hostile(text)
    passing = tuple(replace(one, verdict=Verdict.PASS, reason="") for one in new.records)
    old = replace(new, records=passing)
    page = shown(old, new)
    for character in "\x00\x1b\x07\x08\u202e\r":
        assert character not in page.text
    assert [line for line in page.lines if line.startswith("exit ")] == [page.lines[-1]]
    found = compare(old, new)
    assert found.regressions == 10
    tags = [tag for tag, _ in seen(list(diff.markdown_lines(old, new, found, common=False))).tags]
    assert {*tags} <= TAGS | {"h3"}
    assert tags.count("tr") - tags.count("table") == len(found.changes)


def test_a_page_is_never_longer_than_github_takes():
    one = record(Verdict.FAIL, reason="größer " * 40)
    old, new = run_of(*[record()] * 6000), run_of(*[one] * 6000)
    whole = "\n".join(diff.markdown_lines(old, new, compare(old, new), common=False))
    assert len(whole.encode()) < 1 << 20
    shown_ = whole.count("pass → fail")
    assert 500 < shown_ < 6000
    assert f"{6000 - shown_:,} changes" in whole.splitlines()[-1]
