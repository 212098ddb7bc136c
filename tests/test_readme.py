"""What the README and docs/verdicts.md show is what the tool prints."""

import re
import shlex
from pathlib import Path

import pytest

from benchmarks import narrowed
from opcheck.errors import Exit
from opcheck.model import Verdict
from opcheck.suite import load
from opcheck.suite.levels import CORE
from tests.node_tests import needs_known_releases
from tests.shell import README, VERDICTS, block, numberless, plain, shell
from tests.wording import Wording

STORED_RUNS = README.parent / "docs" / "stored-runs.md"
PAGES = [README, *sorted((README.parent / "docs").glob("*.md"))]


def opcheck(folder: Path, *args: str) -> str:
    """What a command prints, on standard output or error."""
    return shell(folder, f"COLUMNS=100 {shlex.join(['opcheck', *args])}")[1]


@needs_known_releases
def test_the_wrong_answer_is_real_and_its_last_line_repeats_it(tmp_path: Path) -> None:
    shown = block("FAIL reference")
    *_, repeat = shown.strip().splitlines()
    assert plain(shown) in plain(opcheck(tmp_path, *shlex.split(repeat)[2:]))


@pytest.mark.gate
@needs_known_releases
def test_what_is_wrong_with_a_backend_is_told_as_shown(tmp_path: Path) -> None:
    words = re.findall(r"`opcheck (run -b reference .*)` prints:", VERDICTS.read_text("utf-8"))[0]
    left = iter(numberless(opcheck(tmp_path, *words.split())).splitlines())
    for line in numberless(block("What is wrong", VERDICTS)).splitlines():
        assert line == "…" or line in left, line


@pytest.mark.gate
@needs_known_releases
def test_what_changed_from_one_run_to_the_next_is_told_as_shown(tmp_path: Path) -> None:
    for name in ("onnxruntime", "reference"):
        profile = f'[backends.mine]\naddress = "{name}"\n'
        (tmp_path / "opcheck.toml").write_text(profile, encoding="utf-8")
        cases = ["--op", "Hardmax", "--opset", "13", "--dtype", "float32", "--no-known"]
        cases += ["-k", "empty_tensor or nan"]
        opcheck(tmp_path, "run", "-b", "mine", *cases, "--report", f"json={name}.jsonl")
    printed = plain(opcheck(tmp_path, "diff", "onnxruntime.jsonl", "reference.jsonl"))
    left = iter(printed.splitlines())
    for line in plain(block("Settings that differ", STORED_RUNS)).splitlines():
        assert line == "…" or line in left, line


@pytest.mark.gate
def test_the_sentences_and_their_cases_are_those_that_the_table_shows(tmp_path: Path) -> None:
    printed = opcheck(tmp_path, "list", "--clauses", "--op", "Hardmax")
    assert numberless(block("Attribute axis", VERDICTS)) in numberless(printed)


def test_the_case_file_is_sound_and_its_faults_are_told_as_shown(
    tmp_path: Path, wording: Wording
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(block("# my.yaml"), encoding="utf-8")
    assert opcheck(tmp_path, "list", "my.yaml").splitlines()[-1] == wording
    assert "exit 0: conforms: 4 results" in opcheck(tmp_path, "run", "my.yaml", "-b", "onnxruntime")
    faulty = block("# my.yaml").replace("axis: -1", "axes: -1").replace("[3, 0, 3]]", "[3, 0]]")
    file.write_text(faulty, encoding="utf-8")
    assert opcheck(tmp_path, "run", "my.yaml") == block("my.yaml:")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    for link in links:
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """The headings of a page as its links spell them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_the_readme_names_every_page() -> None:
    text = README.read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"(docs/{page.name})" not in text] == []


def test_every_exit_code_is_told_with_its_number() -> None:
    rows = re.findall(r"^\| (\d+) \| ", VERDICTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(row) for row in rows] == [int(code) for code in Exit]


def test_every_verdict_is_told() -> None:
    cells = re.findall(r"^\| ([a-z, ]+) \| ", VERDICTS.read_text(encoding="utf-8"), re.MULTILINE)
    told = {name.strip() for cell in cells for name in cell.split(",")}
    assert {*map(str, Verdict), "self"} <= told


def test_the_page_shows_what_narrower_arithmetic_uses() -> None:
    page = VERDICTS.read_text(encoding="utf-8").replace(",", "")
    rows = re.findall(r"^\| (.+?) \| (\S+ / .*) \|$", page, re.MULTILINE)
    known = {told.replace(",", ""): told for told in narrowed.NODES}
    assert len(rows) == 7
    for row, pairs in rows:
        if row.endswith("1000000"):
            continue  # A million terms take ten seconds.
        written = [[*map(float, pair.split("/"))] for pair in pairs.split("|")]
        measured = zip(written, narrowed.row(known[row], narrowed.SHOWN), strict=True)
        for place, (pair, found) in enumerate(measured):
            for one, number, limit in zip(pair, found, (1, narrowed.SCATTER)):  # noqa: B905
                # Processors add up in other orders, which matters where it is the only error.
                assert 0.25 < one / number < (4 if place else 16), row
                assert (one > limit) == (number > limit), row


@pytest.mark.gate
@pytest.mark.reads_all_suites
def test_one_page_tells_the_number_of_cases_and_one_that_of_mutants() -> None:
    core = [case for case in load((), ()) if case.level in CORE]
    (told,) = re.findall(r"by some ([\d,]+) cases", README.read_text(encoding="utf-8"))
    assert int(told.replace(",", "")) == round(len(core), -3)
    of_mutants = re.compile(r"^all +[\d,]{7,}|[\d,]{7,} (?:mutants|in all versions)", re.MULTILINE)
    assert [page for page in PAGES if of_mutants.search(page.read_text("utf-8"))] == [VERDICTS]
