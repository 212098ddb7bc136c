"""The published pages: what stored runs, ledgers, weights and a benchmark say, in Markdown.

`README.md` has a row an engine, `operators.md` a row an operator, `ENGINE/README.md` a line a
defect, `ENGINE/OPERATOR.md` the details of those that were confirmed with that operator. Everything
is computed from the files of this folder; nothing is run.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from opcheck import opset
from opcheck.analysis import reds
from opcheck.grouping import group_by
from opcheck.model import Verdict
from opcheck.model.timing import Bench, Timed
from opcheck.report import plain_text, timings
from opcheck.report.markdown import block, table
from opcheck.timing import means, ratio, spread, words as verdict_on
from reports import counts, nodes, score
from reports.counts import Harm, Mark
from reports.nodes import Nodes
from reports.published import UNJUDGED, Defect, Group, Published, State
from reports.results import Result
from reports.weights import Cell, Model, shares

#: What Markdown might take for its own; texts here are those of ledgers, pages and engines.
_MARKUP = re.compile(r"[\\`*_<>|\[\]~]")
_MADE = "<!-- Made by `python reports/regenerate.py`; edits are lost. -->"
_COLUMNS = (
    "defect",
    "operators",
    "beside",
    "reproduced without opcheck on",
    "acknowledged upstream",
)
#: What the names of DirectML's operators begin with.
_DIRECT_ML = "DML_"
#: So many operators of a defect are named in a line of it.
_FEW = 4
_EMBEDDING = """\
## Embedding

Every engine's folder has two files for others to read:

- `badge.json`, as [endpoint badges of shields.io](https://shields.io/badges/endpoint-badge) take
  it. `URL` is the address of the file, percent-encoded:

  ```markdown
  ![opcheck](https://img.shields.io/endpoint?url=URL)
  ```

- `score.json`, in the form of [score.schema.json](score.schema.json). Names do not change within a
  `format`; new fields may come.

| field of score.json | what it is |
| --- | --- |
| `format` | 1 |
| `engine`, `release`, `date` | the engine, its version, and the day when it was run |
| `opcheck`, `suite` | opcheck's version; the digest of the suite, and its number of cases |
| `cells` | the number of cells in each state |
| `weights` | the number of models and of their nodes, and the share of the nodes whose cell is in \
each state |
| `nodes` | the number of nodes of these models that were run, and the share of them in each state |
| `right` | the share of cases that are right, each sentence of the specification weighing alike |
| `harm` | how many defects do what, and what stands beside each count |
| `distinct_defects` | how many are on legal models, and on invalid models alone |
| `defects` | each defect once: its `id`, which stays, its `sentence`, `models`, `harm`, \
`acknowledged` (upstream), `operators`, \
`versions`, `confirmed` on (kinds of processor), `link` (a thread, or null), `page` with its \
anchor |
| `operators` | the state of each cell, by operator, version and type |
"""


@dataclass(frozen=True)
class Site:
    """The pages of all engines, which link to each other."""

    runs: Sequence[Published]
    bench: timings.Stored
    models: Sequence[Model]
    #: The places that defects had before they had ids, as OPERATOR.md#ANCHOR.
    old_links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Runs without ledgers, of fewer cases.
    more: Sequence[Published] = ()
    #: Runs of engines with options, which have a row and no pages.
    variants: Sequence[Published] = ()
    #: What came of the nodes of the models.
    nodes: Sequence[Nodes] = ()

    @property
    def rows(self) -> Sequence[Published]:
        """Every run and, after that of its engine, those with options."""
        return [
            row
            for one in self.runs
            for row in (one, *(it for it in self.variants if it.address == one.address))
        ]

    @cached_property
    def shares(self) -> Mapping[Cell, Fraction]:
        """What models use."""
        return shares(self.models)

    @cached_property
    def engines(self) -> Sequence[Engine]:
        """One for each run."""
        return [Engine(one, self) for one in self.runs]

    def files(self) -> dict[str, str]:
        """Return every file by its path in this folder."""
        found = {
            "README.md": _text(_front(self)),
            "operators.md": _text(_operators(self)),
            "timings.md": _text(_bench(self.bench)),
        }
        for engine in self.engines:
            at = engine.one.address
            found[f"{at}/README.md"] = _text(engine.lines())
            found[f"{at}/badge.json"] = score.badge(engine.one)
            found[f"{at}/score.json"] = score.score(
                engine.one, self.models, self.nodes, engine.listed()
            )
            for name in engine.pages:
                found[f"{at}/{name}.md"] = _text(engine.page(name))
        return found


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


# ── the front page ────────────────────────────────────────────────────────────────────────────


def _front(site: Site) -> Iterator[str]:
    runs = site.runs
    yield from ("# What opcheck found", "", _MADE, "")
    yield from _headline(runs)
    yield from _scoreboard(site)
    yield from (
        "## Operators",
        "",
        "[Each operator](operators.md) has a row, with links to what is wrong with it.",
        "",
    )
    yield from _more(site)
    yield from _used(site)
    yield from _environment(runs)
    yield _EMBEDDING


def _headline(runs: Sequence[Published]) -> Iterator[str]:
    """Count the defects by what they do, and what stands beside each count."""
    engines = sum(bool(one.real) for one in runs)
    every = [(one, group) for one in runs for group in one.real]
    of = Counter(counts.harm(group) for _, group in every)
    yield (
        f"**{len(every)} distinct defects in {engines} released engines. {of[Harm.WRONG]} are "
        f"wrong answers, deaths and wrong shapes on legal models, {of[Harm.REFUSED]} legal models "
        f"that are refused, and {of[Harm.ACCEPTED]} invalid models that are accepted or end the "
        f"process.** In {of[Harm.DECLARED]} the answer is right, and only its declared shape is "
        "not. What two engines have in common counts for each."
    )
    yield ""
    kinds = [len(one.processors(group)) for one, group in every]
    acknowledged = sum(counts.is_acknowledged(group) for _, group in every)
    yield (
        f"They were found on {runs[0].head.suite.cases:,} cases of the shipped suites. "
        f"{sum(map(bool, kinds))} are reproduced without opcheck, {sum(n > 1 for n in kinds)} of "
        f"them on two kinds of processor and {kinds.count(1)} on one; each says so on its page. "
        f"{acknowledged} are acknowledged upstream: mended there, but not in the release."
    )
    yield ""


def _scoreboard(site: Site) -> Iterator[str]:
    columns = ("cases right", "cells without a failure", "right on what models use")
    rows = [_score_of(one, site) for one in site.rows]
    yield from ("## Engines", "", *table(["engine", *columns], rows, numbers=len(columns)), "")
    yield (
        "*Cases right*: each sentence of the specification weighs alike, however many cases test "
        "it; a warning is not a failure. What an engine calls not implemented is not judged, and "
        "neither is what its documentation says it lacks, or computes in fewer bits by default. "
        "Known defects count as what they are, failures."
    )
    yield ""
    yield (
        "The next column is the worst beside: a *cell* is a version of an operator with a type of "
        "the input that its kernels differ by, and one case that fails makes it wrong. *Right on "
        "what models use*: the share of the nodes of [public models](#what-models-use) that are "
        "answered rightly, each node alone. The rest is wrong, refused, not implemented, or not "
        "judged."
    )
    yield ""
    yield from ("### Defects by what they do", "")
    head = ["engine", *Harm]
    harms = [[_linked(one), *(_counted(one, which) for which in Harm)] for one in site.rows]
    yield from (*table(head, harms, numbers=len(Harm)), "")
    yield (
        "*Wrong answers* are also deaths and wrong shapes on legal models. In brackets is how many "
        "rest *on a ruling*, since two readers may read the text differently; are *documented* by "
        "the engine, as unsupported or its default precision; show only in versions *outside its "
        "opsets*; or are caused *by an erratum of ONNX*. One may be several."
    )
    yield ""
    verdicts = ("right", "warned", "wrong", "refused or raised", "died or unstable", "unsupported")
    yield from (*table(["cases", *verdicts], map(_totals, site.rows), numbers=len(verdicts)), "")
    yield (
        "*Warned*: wrong where the text decides but a sound backend may differ, such as 16-bit "
        "tensors computed in 16-bit arithmetic, or an invalid model with an obvious answer. "
        "*Wrong* includes accepted invalid models."
    )
    yield ""


def _score_of(one: Published, site: Site) -> list[str]:
    used = nodes.used(site.nodes, one.full_address)
    return [
        _linked(one),
        _right(score.share_right(one)),
        _of(score.counts(one), percent=True),
        _right(used.get(nodes.State.RIGHT)),
    ]


def _linked(one: Published) -> str:
    return str(one) if one.options else f"[{one}]({one.address}/README.md)"


def _right(share: float | None) -> str:
    """A share of right cases in percent, rounded down: 100 only if nothing is wrong."""
    return "–" if share is None else f"{int(1000 * share) / 10:g}\u00a0%"


def _counted(one: Published, which: Harm) -> str:
    """How many defects do this, and in brackets what stands beside."""
    count = counts.by_harm(one)[which]
    marked = counts.beside(one, which)
    beside = ", ".join(f"{marked[mark]} {mark}" for mark in Mark if marked[mark])
    return f"{count} ({beside})" if beside else str(count)


def _of(states: Counter[State], *, percent: bool = False) -> str:
    of = score.judged(states)
    right = states[State.RIGHT]
    if not of:
        return "–"
    return f"{right:,} of {of:,}" + (f" ({score.percent(states)}\u00a0%)" if percent else "")


def _share(share: float) -> str:
    if share and share < 0.0005:
        return "< 0.1 %"
    return plain_text.percent(share) if share else "·"


def _totals(one: Published) -> list[str]:
    found = Counter(result.plain for result in one.results)
    dead = (Verdict.CRASH, Verdict.TIMEOUT, Verdict.OOM, Verdict.UNSTABLE)
    counts = (
        found[Verdict.PASS],
        found[Verdict.WARN],
        found[Verdict.FAIL],
        found[Verdict.ERROR],
        sum(found[verdict] for verdict in dead),
        found[Verdict.UNSUPPORTED],
    )
    return [str(one), *(f"{count:,}" if count else "·" for count in counts)]


def _operators(site: Site) -> Iterator[str]:
    judged = {op.name for one in site.runs for op, _ in one.cells}
    # Types that an attribute names make no cells, and yet there may be a page.
    judged.update(*(engine.pages for engine in site.engines))
    rows = []
    for name in sorted({*opset.operators(""), *judged}):
        share = score.share_of(name, site.shares)
        if name in judged or share:
            cells = [engine.cell(name) if name in judged else "·" for engine in site.engines]
            rows.append([name, _share(float(share)), *cells])
    engines = [f"[{one.address}]({one.address}/README.md)" for one in site.runs]
    yield from ("# Operators and engines", "", _MADE, "")
    yield (
        "What [the scoreboard](README.md#engines) counts, by operator: the share of the nodes of "
        "models that are of the operator; the share of cases that are right, each sentence "
        "weighing alike, where some are wrong; and the cells without a failure, of those judged: "
        "`–` where an engine implements none, `·` where opcheck has no suite. Links lead to what "
        "is wrong, and to each version."
    )
    yield ""
    # Their long names would push columns of the others out of a narrow window.
    of_direct_ml = [[name, *cells] for name, _, *cells in rows if name.startswith(_DIRECT_ML)]
    of_onnx = [
        [name.replace("_", " "), *cells] for name, *cells in rows if not name.startswith(_DIRECT_ML)
    ]
    columns = ["operator", "in models", *engines]
    yield from (*table(columns, of_onnx, numbers=1 + len(site.runs)), "")
    yield from ("## Operators of DirectML", "", "Each engine runs the ONNX graph of them.", "")
    yield from (*table(["operator", *engines], of_direct_ml, numbers=len(site.runs)), "")


def _more(site: Site) -> Iterator[str]:
    if not site.more:
        return
    rows = []
    for one in site.more:
        by_operator = Counter(_whole(one, name) for name in {op.name for op, _ in one.cells})
        counts = (f"{by_operator[kind] or '·'}" for kind in ("right", "wrong", "absent"))
        _, module, name = one.address.split(":")
        link = f"[{name} {text(one.version)}](../examples/backends/{module}.py)"
        rows.append([link, *counts, *_totals(one)[1:]])
    operators = ("operators right", "wrong", "not implemented")
    verdicts = ("right", "warned", "wrong", "refused or raised", "died or unstable", "unsupported")
    yield from ("## More engines", "")
    yield (
        "Programs of some forty lines run these, on a handful of cases of each operator "
        "(`--level smoke`). What is wrong with them is not confirmed by hand: "
        "`opcheck report opencv.jsonl.gz` shows it, and what explains it, in "
        "[the whole run](#how-runs-are-made)."
    )
    yield ""
    head = ["engine", *operators, *(f"cases {word}" for word in verdicts)]
    yield from (*table(head, rows, numbers=len(head) - 1), "")


def _whole(one: Published, operator: str) -> str:
    """What all cells of an operator say together."""
    states = score.counts(one, operator)
    if not score.judged(states):
        return "absent"
    return "right" if states[State.RIGHT] == score.judged(states) else "wrong"


def _used(site: Site) -> Iterator[str]:
    size = sum(model.size for model in site.models)
    run = sum(sum(model.counts) for model in site.nodes)
    yield from ("## What models use", "")
    yield (
        f"[weights.json](weights.json) counts the {size:,} nodes of the {len(site.models)} models "
        "below, which Python packages ship ([weights.py](weights.py)): by operator, by the version "
        "in force at the model's opset, and by type. Nodes of subgraphs count, and those of a "
        "model-local function once for each call. Every model has the same weight, whatever its "
        "size; a file that two packages ship counts once."
    )
    yield ""
    yield (
        f"{run:,} nodes of {len(site.nodes)} of these models were run, each alone, as "
        "`opcheck extract` writes them ([nodes.py](nodes.py)). Left out are constants, and "
        "branches that a model did not take. What other nodes compute is fed to a node: an "
        "engine that needs a shape to be constant refuses some that it takes in the model."
    )
    yield ""
    rows = [
        [label, *(_share(part) for part in shares.values())]
        for address, label in _engines_of_nodes(site)
        for shares in [nodes.used(site.nodes, address)]
    ]
    yield from (*table(["nodes that are", *nodes.State], rows, numbers=len(nodes.State)), "")
    yield (
        "By default OpenVINO computes float32 in bfloat16 on a processor that can; "
        "`precision=f32` keeps float32."
    )
    yield ""
    models = []
    ran = {model.sha256: sum(model.counts) for model in site.nodes}
    for model in site.models:
        shipped = f"{model.package} {model.version}", Path(model.file).name
        sizes = f"{model.size:,}", f"{ran.get(model.sha256, 0):,}"
        models.append([*map(text, shipped), str(model.opset), *sizes])
    yield from (*table(["package", "model", "opset", "nodes", "run"], models, numbers=3), "")


def _engines_of_nodes(site: Site) -> list[tuple[str, str]]:
    """Return the address of each engine that ran the nodes, and its name and release."""
    names = {one.address: str(one) for one in site.runs}
    addresses = dict.fromkeys(address for model in site.nodes for address in model.found)
    return [
        (address, ", ".join([names[engine], *filter(None, [options])]))
        for address in addresses
        for engine, _, options in [address.partition("?")]
    ]


def _environment(runs: Sequence[Published]) -> Iterator[str]:
    head = runs[0].head
    yield from ("## How runs are made", "")
    yield (
        f"Run with opcheck {head.opcheck} on Python {head.python}, "
        f"{text(head.platform)}, one thread each; begun "
        f"{', '.join(sorted({one.head.started[:10] for one in runs}))}. "
        f"The suite has {head.suite.cases:,} cases and the digest "
        f"`{head.suite.digest[:16]}`. [Timings](timings.md) name the releases that they are of."
    )
    yield ""
    processors = sorted({one.head.instructions for one in runs} - {""})
    if processors:
        yield (
            f"Instructions of the processor: {text('; '.join(processors))}. What an engine "
            "computes depends on them: by default OpenVINO computes float32 in bfloat16 where the "
            "processor has instructions for that, and in float32 elsewhere."
        )
        yield ""
    yield (
        "`python reports/regenerate.py` makes the runs, asks each engine about its defects without "
        "opcheck, and writes these pages; `--page` only writes the pages. What the pages need of "
        "the runs is in [results](results). Whole runs are files of each release, and "
        "`opcheck report onnxruntime.jsonl.gz` shows one; `--take DIR` makes the pages of those in "
        "a folder. [Ledgers](../opcheck/ledgers) list what is known."
    )
    yield ""
    names = sorted({one["processor"] for run in runs for one in run.by_hand})
    yield (
        f"Reproduced without opcheck on: {text(', '.join(names))}. Where AVX-512 is hidden, "
        "[hide_avx512.c](hide_avx512.c) makes CPUID of the same machine report neither AVX-512 nor "
        "AMX. A limit, such as NPY\\_DISABLE\\_CPU\\_FEATURES for reference, reaches one library "
        "only and counts as no other kind of processor; the other engines have none."
    )
    yield ""


# ── an engine ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Engine:
    """The pages of one engine: each defect on that of the operator it was confirmed with."""

    one: Published
    site: Site

    @cached_property
    def homes(self) -> dict[str, list[Group]]:
        """The defects by the operator whose page shows them."""
        return group_by(self.one.real, lambda group: _home(self.one, group))

    @cached_property
    def elsewhere(self) -> dict[str, list[Group]]:
        """The defects by the operators that they show in too."""
        found: dict[str, list[Group]] = defaultdict(list)
        for home, groups in self.homes.items():
            for group in groups:
                for name in sorted({*_operators_of(group)} - {home}):
                    found[name].append(group)
        return found

    @cached_property
    def results(self) -> dict[str, list[Result]]:
        """The results by operator."""
        return group_by(self.one.results, lambda result: result.op.name)

    @cached_property
    def pages(self) -> Sequence[str]:
        """The operators that have a page: whatever is wrong has one."""
        red = {result.op.name for result in self.one.results if result.plain in reds()}
        return sorted({*red, *self.homes})

    @cached_property
    def links(self) -> Mapping[str, str]:
        """The place of each defect, by its id."""
        return {
            group[0].id: f"{home}.md#{_anchor(group[0].id)}"
            for home, groups in self.homes.items()
            for group in groups
        }

    def anchors(self, group: Group, page: str) -> list[str]:
        """Return the anchors on a page that lead to a defect: all that it ever had there.

        They are the ids of its lines, those of defects that were merged into them, and what links
        were made of before there were ids.
        """
        ids = [defect.id for defect in group]
        retired = self.one.ledger.fields.retired if self.one.ledger else {}
        ids += [id for id, holding in retired.items() if not {*holding}.isdisjoint(ids)]
        old = [link.partition("#") for id in ids for link in self.site.old_links.get(id, ())]
        former = [anchor for name, _, anchor in old if name == f"{page}.md"]
        return [*map(_anchor, ids), *former]

    @cached_property
    def shares(self) -> Mapping[str, float | None]:
        """The share of cases that are right, by operator."""
        return score.shares_right(self.one)

    def cell(self, name: str) -> str:
        """Return the operator's cells that are right, with a link to what is wrong."""
        cells = _of(score.counts(self.one, name))
        share = self.shares.get(name)
        said = cells if share in (None, 1) or cells == "–" else f"{_right(share)} · {cells}"
        said = said.replace(" of ", "\u00a0of\u00a0")
        return f"[{said}]({self.one.address}/{name}.md)" if name in self.pages else said

    def listed(self) -> list[dict[str, Any]]:
        """Return the defects as `score.json` has them."""
        return [
            {
                "id": group[0].id,
                "sentence": group[0].line.cause,
                "models": _models(group),
                "harm": counts.harm(group),
                "acknowledged": counts.is_acknowledged(group),
                "operators": _operators_of(group),
                "versions": group[0].line.versions,
                "confirmed": sorted(self.one.processors(group)),
                "link": next((d.line.link for d in group if d.line.link), None),
                "page": self.links[group[0].id],
            }
            for group in self.one.real
        ]

    def lines(self) -> Iterator[str]:
        """Return the engine's page: a line a defect."""
        one = self.one
        states = score.counts(one)
        used = nodes.used(self.site.nodes, one.full_address)
        yield from (f"# {one}: {plain_text.plural(len(one.real), 'defect')}", "", _MADE, "")
        yield (
            f"{_right(score.share_right(one))} of the cases are right, each sentence weighing "
            "alike. "
            f"{_of(states, percent=True)} cells are right, and {states[State.LEGAL]:,} more on "
            f"legal models alone; {states[State.ABSENT]:,} are not implemented. "
            f"{_right(used.get(nodes.State.RIGHT))} of the nodes that models use are right. "
            "[What this means](../README.md#engines), [every cell](score.json), "
            "[the badge](badge.json)."
        )
        yield ""
        for which in Harm:
            rows = [self._row(group) for group in one.real if counts.harm(group) is which]
            if rows:
                yield from (f"## {which.capitalize()}", "")
                yield from (*table(_COLUMNS, rows), "")
        yield from _deviations(one)
        yield from _unseen(one)

    def _row(self, group: Group) -> list[str]:
        line = group[0].line
        names = _operators_of(group) or [_home(self.one, group)]
        few = ", ".join(names[:_FEW])
        if len(names) > _FEW:
            few += f" and {len(names) - _FEW} more"
        seen = self.one.processors(group)
        reported = f" ([thread]({line.link}))" if line.link else ""
        linked = f"[{group[0].id}: {text(line.cause)}]({self.links[group[0].id]}){reported}"
        kinds = ", ".join(sorted({kind.partition(" (")[0] for kind in seen}))
        beside = ", ".join(mark for mark in Mark if mark in counts.marks(self.one, group))
        by_hand = text(kinds) if seen else "**not reproduced**"
        acknowledged = "yes" if counts.is_acknowledged(group) else ""
        return [linked, few, beside, by_hand, acknowledged]

    def page(self, name: str) -> Iterator[str]:
        """Return the page of an operator: its versions, and its defects in full."""
        one = self.one
        yield from (f"# {name} in {one}", "", _MADE, "")
        yield f"[All defects of {one.address}](README.md), [all operators](../operators.md)"
        yield ""
        yield from (*self._versions(name), "")
        for group in self.homes.get(name, ()):
            yield from (_tags(self.anchors(group, name)), "")
            yield from (f"## {group[0].id}: {text(group[0].line.cause)}", "")
            for defect in group:
                if defect is not group[0]:
                    yield from (f"The same defect, {defect.id}: {text(defect.line.cause)}", "")
                yield from (f"- {said}" for said in _facts(one, defect, self.site.runs))
                yield ""
                confirm = f"python reports/confirm.py {one.address}"
                repeat = defect.example[1].repeat if defect.results else confirm
                yield from (*block(repeat, "sh"), "")
        if name in self.elsewhere:
            yield from ("## Defects with their own place", "")
            for group in self.elsewhere[name]:
                former = self.anchors(group, name)[len(group) :]
                link = f"[{text(group[0].line.cause)}]({self.links[group[0].id]})"
                yield f"- {_tags(former)}{group[0].id}: {link}"

    def _versions(self, name: str) -> list[str]:
        rows = []
        by_version = group_by(self.results.get(name, ()), lambda result: result.op)
        for op, results in sorted(by_version.items()):
            cells = {dtype: state for (of, dtype), state in self.one.cells.items() if of == op}
            found = Counter(result.plain for result in results)
            judged = sum(n for verdict, n in found.items() if verdict not in UNJUDGED)
            wrong = [dtype for dtype, state in cells.items() if state is State.WRONG]
            lenient = [dtype for dtype, state in cells.items() if state is State.LEGAL]
            cases = f"{found[Verdict.PASS]:,} of {judged:,}" if judged else "–"
            rows.append(
                [str(op), ", ".join(wrong), ", ".join(lenient), _of(Counter(cells.values())), cases]
            )
        head = ("version", "wrong in", "on invalid models alone", "cells right", "cases right")
        return table(head, rows, numbers=2)


def _home(one: Published, group: Group) -> str:
    """The operator that a defect was confirmed with, which stays; else that of its example."""
    for defect in group:
        for seen in one.seen(defect):
            return seen["asked"].partition(",")[0]
    return group[0].example[0].name


def _anchor(id: str) -> str:
    """The anchor of a defect; those of HTML pages that others link to are in lower case."""
    return id.lower()


def _tags(anchors: Iterable[str]) -> str:
    return "".join(f'<a id="{anchor}"></a>' for anchor in anchors)


def _models(group: Group) -> str:
    return "invalid" if all(d.line.kind == "invalid model" for d in group) else "legal"


def _operators_of(group: Group) -> list[str]:
    return sorted({result.op.name for defect in group for result in defect.wrong})


def _facts(one: Published, defect: Defect, runs: Sequence[Published]) -> Iterator[str]:
    """What is known of a defect, and how: without opcheck's own engine."""
    line = defect.line
    if defect.results:
        op, example = defect.example
        rulings = (
            f". opcheck's ruling: {text(' '.join(example.rulings))}" if example.rulings else ""
        )
        yield f"Clause of {op}: {text(f'“{example.clause}”')}{rulings}"
        yield f"Smallest case, repeated by the command below: {_code(example.question)}"
        where = ", ".join(map(str, sorted({result.op for result in defect.wrong})))
        count = plain_text.plural(len(defect.wrong), "case")
        yield f"In versions {text(line.versions)}; seen in {one}, in {count} of {where}."
    else:
        yield f"Clause: {text(f'“{line.clause}”')}"
        yield f"In versions {text(line.versions)}; seen in {one}, in no case of the suites."
    if line.kind == "invalid model":
        yield "On invalid models only."
    if line.ruling:
        yield f"Two readers may read the text differently: {text(line.ruling)}"
    if line.documented:
        yield f"Documented: {text(line.documented)}"
    if line.erratum:
        yield f"An erratum of ONNX itself: {text(line.erratum)}"
    if line.link:
        yield f"Reported: <{line.link}>"
    if line.upstream:
        yield f"Acknowledged upstream: {text(line.upstream)}"
    yield from _by_hand(one, defect)
    cases = {result.case for result in defect.wrong}
    others = []
    for other in runs:
        right = len(cases & other.passed)
        if right and other is not one:
            others.append(f"{other} in {right:,}")
    if others:
        yield f"By other engines, which are right: {', '.join(others)} of these cases."


def _by_hand(one: Published, defect: Defect) -> Iterator[str]:
    seen = one.seen(defect)
    if not seen:
        yield "**Not reproduced without opcheck.**"
        return
    first = seen[0]
    yield (
        f"By hand ([confirm.py](../confirm.py)): {_code(first['asked'])} has to give "
        f"{_code(first['want'])}: {text(first['why'])}. It gives {_code(first['got'])}. "
        f"Control, right: {_code(first['control'])}."
    )
    alone = "" if len(one.processors((defect,))) > 1 else "**Seen on one kind of processor.** "
    processors = dict.fromkeys(map(_processor, seen))
    told = f"{alone}Reproduced without opcheck on {text('; '.join(processors))}."
    for other in one.hand(defect):
        if other not in seen:
            told += f" On {text(_processor(other))} it {other['outcome']}: {_code(other['got'])}."
    yield told


def _processor(one: Mapping[str, str]) -> str:
    return f"{one['processor']} with {one['limit']}" if one["limit"] else one["processor"]


def _deviations(one: Published) -> Iterator[str]:
    rows = [[text(defect.line.cause), f"{len(defect.results):,}"] for defect in one.deviations]
    warned = Counter(_otherwise(r) for r in one.results if r.kind.verdict is Verdict.WARN)
    rows += [[text(said), f"{count:,}"] for said, count in warned.items()]
    if not rows:
        return
    yield from ("## Deviations", "")
    yield (
        "Only warned of, and no defects: the text decides, but a sound backend may differ for a "
        "reason that can be stated."
    )
    yield ""
    yield from (*table(["what is otherwise", "cases"], rows, numbers=1), "")


def _otherwise(result: Result) -> str:
    """What a warning that no ledger explains is about, without what is particular to its case."""
    reason = result.kind.reason
    told = reason.partition(": ")[2].partition(";")[0]
    return f"{result.op.name}: {plain_text.brief(told or reason)}, in no ledger"


def _unseen(one: Published) -> Iterator[str]:
    rows = [[text(line.cause), text(why)] for line, why in one.unseen]
    if rows:
        yield from ("## Listed, and not seen in this run", "")
        yield from (*table(["what was wrong", "why not"], rows), "")


# ── timings ───────────────────────────────────────────────────────────────────────────────────


def _bench(stored: timings.Stored) -> Iterator[str]:
    bench = stored.bench
    machine = bench.machine
    backends = [f"{address} {version}".rstrip() for address, version in bench.backends.items()]
    yield from ("# Timings", "", _MADE, "")
    yield (
        f"Median times of a call on {text(machine.processor)}, "
        f"{plain_text.plural(machine.cores, 'processor')}, {text(machine.platform)}, "
        f"Python {bench.python}, load {machine.load:g}; "
        f"{plain_text.plural(bench.threads, 'thread')}, "
        f"{bench.workers} processes a backend, taken by `opcheck bench --quick`. The ratio to "
        f"{text(bench.baseline)} is in brackets, with a 95 % interval, where it is clear. "
        "A backend that answers a case wrongly is not timed on it."
    )
    yield ""
    if not stored.complete:
        yield "**Incomplete: it was cut short.**"
        yield ""
    rows = []
    for row in stored.rows:
        what = f"{row.op} {row.dtype} {row.shapes}"
        rows.append(
            [text(row.case), text(what), *(_time(row, one, bench) for one in bench.backends)]
        )
    yield from table(["case", "of", *map(text, backends)], rows, numbers=len(backends))
    yield ""
    found = means(stored.rows, bench.baseline)
    if found:
        told = ", ".join(f"{text(mean.backend)} {plain_text.digits(mean.value)}" for mean in found)
        over = f"{found[0].cases:,} of {found[0].of:,} cases, those that all of them were timed on"
        yield f"Geometric mean of the ratios to {text(bench.baseline)} over {over}: {told}."
        yield ""


def _time(row: Timed, backend: str, bench: Bench) -> str:
    timing = row.timing(backend)
    base = row.timing(bench.baseline)
    found = spread(timing.samples) if timing else None
    if timing is None or found is None:
        return "–"
    told = plain_text.seconds(found.median)
    if timing is base or base is None or not base.samples:
        return told
    times = ratio(timing, base)
    if times is None or verdict_on(times) == "unclear":
        return told
    return (
        f"{told} (×{plain_text.digits(times.value)}, {plain_text.interval(times.low, times.high)})"
    )


def text(said: str) -> str:
    """A text in one line of Markdown."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", plain_text.one_line(said))


def _code(said: str) -> str:
    return f"`{plain_text.one_line(said).replace('`', chr(39))}`"
