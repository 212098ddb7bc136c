"""What is published agrees with its data, and the data with what the engines do today."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opcheck.records.status import outcome
from opcheck.report import store
from reports import page, regenerate
from reports.by_hand import CHECKS
from reports.confirm import shown
from tests.releases import needs_known_releases
from tests.shell import ROOT

REPORTS = ROOT / "reports"
RUNS = sorted((REPORTS / "runs").glob("*.jsonl.gz"))
PAGE = (REPORTS / "README.md").read_text(encoding="utf-8")


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def cells(row: str) -> list[str]:
    """The cells of the one table row that begins so."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip(" *") for cell in line.strip("|").split("|")][1:]


def test_the_page_is_the_one_that_the_stored_files_make():
    assert regenerate.text() == PAGE


def test_every_engine_is_published():
    assert tuple(path.name.partition(".")[0] for path in RUNS) == regenerate.ENGINES


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_a_published_run_is_complete_and_whole_and_small(path):
    run = store.read(path)
    assert outcome(run)[0] == 0
    assert run.complete
    assert (run.header.paths, run.header.level, run.header.known) == ((), "core", True)
    assert path.stat().st_size < 400_000


@pytest.mark.parametrize("path", [*RUNS, regenerate.BENCH], ids=lambda path: path.name)
def test_nothing_tells_where_a_checkout_lies(path):
    assert b"/opcheck/" not in gzip.decompress(path.read_bytes()).replace(b'"opcheck/', b"")


def test_all_runs_are_of_one_suite_and_one_version():
    headers = [store.read(path).header for path in RUNS]
    assert len({header.suite for header in headers}) == 1
    assert len({header.environment.opcheck for header in headers}) == 1


# ── the numbers, counted once more from the raw lines ─────────────────────────────────────────


def test_the_scoreboard_counts_what_is_right_and_what_was_judged():
    counts: dict[str, list[str]] = {}
    for path in RUNS:
        right, judged = Counter(), Counter()
        for line in lines_of(path)[1:-1]:
            verdict = line["found"] or line["verdict"]
            for op in (f"{line['op']}-{line['since']}", "**all**"):
                right[op] += verdict == "pass"
                judged[op] += verdict not in ("unsupported", "not run")
        for op in judged:
            told = f"{right[op]:,} of {judged[op]:,}" if judged[op] else "–"
            counts.setdefault(op, []).append(told)
    assert len(counts) == 13
    for op, told in counts.items():
        assert cells(op) == told


def test_the_defects_are_those_that_would_fail_a_run():
    defects = set()
    for path in RUNS:
        for line in lines_of(path)[1:-1]:
            if line["verdict"] == "known" and line["found"] not in ("pass", "warn"):
                defects.add((line["backend"], line["known"]["cause"]))
    assert PAGE.count("\n### ") == len(defects)
    assert f"{len(defects)} distinct defects in {len({b for b, _ in defects})} " in PAGE


def test_every_defect_is_shown_by_hand_in_the_version_that_was_run():
    shown_by_hand = [one.hand(defect) for one in page.published() for defect in one.real]
    assert None not in shown_by_hand
    assert len(shown_by_hand) == len(CHECKS)


def test_every_defect_has_one_line_that_repeats_it():
    assert PAGE.count("\nopcheck run --case ") == PAGE.count("\n### ")
    assert PAGE.count(" --no-known\n```") == PAGE.count("\n### ")


# ── the engines themselves ────────────────────────────────────────────────────────────────────


@needs_known_releases
@pytest.mark.parametrize("engine", ["onnxruntime", "reference"])
def test_defects_show_without_opcheck(engine):
    seen = list(shown([engine]))
    assert len(seen) > 5
    assert [one.cause for one in seen if not one.holds] == []


def test_what_is_right_is_no_defect(monkeypatch):
    """The check by hand can fail: asked for what the engine gives, it shows nothing."""
    (check,) = [one for one in CHECKS if one.cause.startswith("The vectorised maximum")]
    (seen,) = shown_with(check, monkeypatch, wants=[[[1, 0, 0, 0]]])
    assert not seen.holds
    (seen,) = shown_with(check, monkeypatch, wants=[])
    assert seen.holds


def shown_with(check, monkeypatch, **changes):
    monkeypatch.setattr("reports.confirm.CHECKS", (replace(check, **changes),))
    return list(shown(["onnxruntime"]))
