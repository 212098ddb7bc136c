"""What is published agrees with its data, and the data with what the engines do today."""

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import ml_dtypes
import numpy as np
import onnx
import pytest
import yaml

from opcheck.errors import CaseFileError, UsageError
from opcheck.known import SHIPPED_LEDGERS, load_ledgers
from opcheck.model import OpVersion, Suite, Verdict
from opcheck.report import store
from reports import checks, confirm, counts, page, published, regenerate, results, score, weights
from reports.checks import Check, Dies, Gives, Leftovers, Model, Raises, all_checks
from reports.counts import Harm, Mark
from reports.published import State
from tests.expecting import error_of
from tests.node_tests import needs_known_releases
from tests.shell import ROOT
from tests.test_readme import anchors

REPORTS = ROOT / "reports"
RESULTS = [REPORTS / "results" / f"{engine}.json.gz" for engine in published.ENGINES]
PAGE = (REPORTS / "README.md").read_text(encoding="utf-8")
FILES = {path: path.read_text("utf-8") for path in sorted(regenerate.pages(REPORTS))}
DETAILS = "".join(text for path, text in FILES.items() if path.parent != REPORTS)


#: The files are read once.
_published = cache(published.published)
FED = Model("Hardmax", 13, {"axis": 1}, np.array([[1, 2]], np.float32))
CHECK = Check("acme", "ACME-0001", FED, [[[0, 1]]], Gives([[1, 0]]), "2 > 1", FED, [[0, 1]])
INVALID = replace(CHECK, wants=[])
SIGNED = replace(CHECK, wants=[[[-0.0, 1]]], shows=Gives([[0, 1]]))


@pytest.fixture(autouse=True, scope="module")
def _read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regenerate, "published", _published)
        yield


@cache
def columns_of(path: Path) -> dict[str, Any]:
    return json.loads(gzip.decompress(path.read_bytes()))


def kinds_of(path: Path) -> list[tuple[Any, ...]]:
    """The verdict, that without ledgers, the failure, refusal and defect of each case."""
    columns = columns_of(path)
    return [tuple(columns["kinds"][number][:5]) for number in columns["kind"]]


def cells_of(level: str) -> list[tuple[Any, ...]]:
    """The domain, operator, version and type of each case."""
    cases = results.suite_of(level)
    return [tuple(cases["cells"][number]) for number in cases["cell"]]


@pytest.mark.seconds(60)
@pytest.mark.gate
def test_the_pages_are_those_that_the_stored_files_make():
    made = regenerate.stored().files()
    assert {str(path.relative_to(REPORTS)) for path in FILES} == {*made}
    assert [name for name, text in made.items() if FILES[REPORTS / name] != text] == []


def test_engines_of_the_examples_have_a_run_and_a_row():
    names = (*published.ENGINES, *published.OTHERS)
    files = {f"{name}.json.gz" for name in names}
    variants = {f"{name}.json.gz" for name in published.VARIANTS}
    assert {path.name for path in (REPORTS / "results").glob("*.gz")} - variants == files
    for name in published.OTHERS:
        assert (ROOT / f"examples/backends/of_{name}.py").exists()
        assert f"(../examples/backends/of_{name}.py)" in PAGE


def test_pages_that_no_longer_belong_are_deleted_and_nothing_else(tmp_path):
    made = ("README.md", "acme/Abs.md", "acme/known.yaml", "gone/score.json")
    regenerate.write(tmp_path, dict.fromkeys(made, ""))
    regenerate.write(tmp_path, {"README.md": "new"})
    assert [p.name for p in sorted(tmp_path.rglob("*"))] == ["README.md", "acme", "known.yaml"]


def test_every_link_leads_somewhere_and_every_page_is_short_and_can_be_reached():
    reached = {REPORTS / "README.md"}
    for path, text in FILES.items():
        limit = 100_000 if path.name == "README.md" and path.parent != REPORTS else 60_000
        assert path.suffix == ".json" or len(text.encode()) < limit, path
        for link in re.findall(r"\]\(((?!https?:)[^)\s]+)\)", text):
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.exists(), (path, link)
            own = FILES.get(target, "").count(f'<a id="{anchor}"></a>') == 1
            assert not anchor or own or anchor in anchors(target)
            reached.add(target)
    assert FILES.keys() - reached == set()


@pytest.mark.parametrize("engine", published.ENGINES)
def test_what_others_embed_is_in_its_form(engine):
    badge, score = (
        json.loads(FILES[REPORTS / engine / f"{one}.json"]) for one in ("badge", "score")
    )
    jsonschema.validate(score, json.loads((REPORTS / "score.schema.json").read_text("utf-8")))
    types = (types for versions in score["operators"].values() for types in versions.values())
    states = Counter(state for those in types for state in those.values())
    assert {state: states[state] for state in score["cells"]} == score["cells"]
    of = states.total() - states["not implemented"]
    message = f"{100 * states['right'] // of}% of {of:,} cells right"
    assert badge.pop("color").isalpha()
    assert badge == {"schemaVersion": 1, "label": "opcheck", "message": message}
    assert sum(score["weights"]["shares"].values()) == pytest.approx(1, abs=1e-3)
    assert Counter(one["models"] for one in score["defects"]) == Counter(score["distinct_defects"])


@pytest.mark.parametrize("path", [*RESULTS, regenerate.BENCH], ids=lambda path: path.name)
def test_nothing_tells_where_a_checkout_lies(path):
    assert b"/opcheck/" not in gzip.decompress(path.read_bytes()).replace(b'"opcheck/', b"")


def test_all_engines_are_published_of_one_suite_and_one_version():
    variants = [REPORTS / "results" / f"{name}.json.gz" for name in published.VARIANTS]
    heads = [results.head(path) for path in [*RESULTS, *variants]]
    addresses = [address.partition("?")[0] for address in published.VARIANTS.values()]
    assert [head.address.partition("?")[0] for head in heads] == [*published.ENGINES, *addresses]
    assert len({(head.suite, head.opcheck, head.level) for head in heads}) == 1
    suite = results.suite_of("core")
    assert (suite["digest"], len(suite["ids"])) == (heads[0].suite.digest, heads[0].suite.cases)


@pytest.mark.gate
@pytest.mark.parametrize("op", ["Cos", "GatherND", "Hardmax", "Softmax"])
def test_the_scoreboard_counts_cells_without_a_case_that_fails(op):
    operators = (REPORTS / "operators.md").read_text(encoding="utf-8")
    (row,) = [line for line in operators.splitlines() if line.startswith(f"| {op} |")]
    cells = cells_of("core")
    for path, cell in zip(RESULTS, row.strip("|").split("|")[2:], strict=True):
        plain = [
            (about, found or verdict, failure)
            for about, (verdict, found, failure, refused, _) in zip(
                cells, kinds_of(path), strict=True
            )
            if about[1] == op and not refused
        ]
        assert plain
        silent = Counter(where for where, verdict, _ in plain if verdict == "unsupported")
        plain = [one for one in plain if one[1] not in ("unsupported", "not run")]
        silent.subtract(
            where for where, verdict, how in plain if (how, verdict) == ("raised", "error")
        )
        types = {where for where, _, failure in plain if failure not in ("accepted", "raised")}
        types |= {where for where, _, failure in plain if failure == "raised" and silent[where] < 0}
        right = types - {where for where, verdict, _ in plain if verdict not in ("pass", "warn")}
        told = f"{len(right)}\u00a0of\u00a0{len(types)}" if types else "–"
        assert cell.strip(" [").partition("]")[0].rpartition(" · ")[2] == told, path


def test_a_cell_is_right_if_no_case_fails_and_a_refusal_shows_no_kernel():
    fine, red, refused, accepted = ("fine", True), ("red", True), ("fine", False), ("red", False)
    raised, unsupported = ("raised", True), ("unjudged", True)
    undecided = ("open", True)
    states = {
        (fine, refused): State.RIGHT,
        (fine, accepted): State.LEGAL,
        (fine, red, accepted): State.WRONG,
        (refused, accepted): State.ABSENT,
        (raised, undecided): State.WRONG,
        (raised, unsupported): State.ABSENT,
        (fine, raised, unsupported): State.WRONG,
        (undecided, unsupported): State.ABSENT,
    }
    assert {kinds: published._state(Counter(kinds)) for kinds in states} == states


MODEL = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
main (bool c, float16[2] x) => (float16[2] y) { a = own.twice(x)  y = If (c) <
    then_branch = one () => (float16[2] p) { p = own.twice(a) },
    else_branch = two () => (float16[2] q) { q = Identity(a) }> }
<domain: "own", opset_import: ["": 17]> twice (v) => (w) { w = Add(v, v) }"""


def test_nodes_count_in_subgraphs_and_once_per_call_and_models_weigh_alike(tmp_path):
    nodes = weights.count(onnx.parser.parse_model(MODEL))
    add, branch, same = (OpVersion("", *op) for op in (("Add", 14), ("If", 16), ("Identity", 16)))
    assert nodes == {(add, "float16"): 2, (branch, "bool"): 1, (same, "float16"): 1}
    one = weights.Model("acme", "1", "a.onnx", "", 17, nodes)
    large = replace(one, nodes={(same, "float16"): 1000})
    assert weights.shares([one, large])[same, "float16"] == 1 / 8 + 1 / 2
    (tmp_path / "stored.json").write_text(weights.written([one, large]))
    assert weights.read(tmp_path / "stored.json") == [one, large]
    models = weights.read()
    assert len({one.sha256 for one in models}) == len(models) > len({m.package for m in models}) > 5
    assert all(f"| {one.package} {one.version} |" in PAGE for one in models)


@cache
def known_lines() -> dict[tuple[str, str], dict[str, Any]]:
    """The lines of the ledgers as YAML has them, by backend and id."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    ledgers = [
        yaml.load(path.read_text("utf-8"), loader) for path in SHIPPED_LEDGERS.glob("*.yaml")
    ]
    return {(one["backend"], line["id"]): line for one in ledgers for line in one["known"]}


@pytest.mark.gate
def test_the_headline_counts_each_defect_once_and_by_its_kind():
    shows = {
        (columns_of(path)["head"]["address"], defect)
        for path in RESULTS
        for verdict, found, _, _, defect in kinds_of(path)
        if verdict == "known" and found not in ("pass", "warn")
    }
    # Of the run that is published, some may have turned out to be none since.
    shows &= known_lines().keys()
    known = known_lines()
    kinds: dict[tuple[str, str], set[str]] = {}
    for (backend, id), line in known.items():
        if (backend, id) in shows or "clause" in line:
            root = backend, line.get("same_as", id)
            kinds.setdefault(root, set()).add(line.get("kind", "legal model"))
    invalid = sum(those == {"invalid model"} for those in kinds.values())
    engines = len({backend for backend, _ in kinds})
    assert f"**{len(kinds)} distinct defects in {engines} " in PAGE
    assert f" and {invalid} invalid models " in PAGE
    three = r"\. (\d+) are wrong answers, .* (\d+) legal models that .* In (\d+) the answer is"
    legal = re.search(three, PAGE.partition("What two")[0])
    assert legal
    assert sum(map(int, legal.groups())) == len(kinds) - invalid
    assert len(re.findall(r"^## [A-Z]+-\d{4}: ", DETAILS, re.MULTILINE)) == len(kinds)


@pytest.mark.gate
def test_every_defect_is_confirmed_in_the_version_that_was_run_and_can_be_repeated():
    real = [(one, group) for one in _published(REPORTS) for group in one.real]
    assert [group[0].id for one, group in real if not any(map(one.seen, group))] == []
    repeats = DETAILS.count(" --no-known\n```") + DETAILS.count("\npython reports/")
    assert repeats == sum(len(group) for _, group in real)


def test_every_check_by_hand_is_about_one_line_of_its_ledger():
    assert {(check.engine, check.defect) for check in all_checks()} <= known_lines().keys()
    assert len(all_checks()) > 1000


def test_the_program_does_not_depend_on_the_words_of_a_sentence():
    """A line's sentence can be reworded without anything else."""
    for one in _published(REPORTS):
        lines = [line.model_copy(update={"cause": "Reworded."}) for line in one.ledger.fields.known]
        fields = one.ledger.fields.model_copy(update={"known": lines})
        reworded = replace(one, ledger=replace(one.ledger, fields=fields))
        ids = [[[defect.id for defect in group] for group in it.real] for it in (one, reworded)]
        assert ids[0] == ids[1]
        assert [*map(reworded.seen, reworded.defects)] == [*map(one.seen, one.defects)]
        assert reworded.cells == one.cells


def test_every_link_to_a_defect_that_was_ever_published_leads_there():
    old_links = json.loads((REPORTS / "anchors.json").read_text("utf-8"))
    for engine in published.ENGINES:
        listed = json.loads(FILES[REPORTS / engine / "score.json"])["defects"]
        assert all(one["page"].endswith(f"#{one['id'].lower()}") for one in listed)
        for one in listed:
            for link in (one["page"], *old_links.get(one["id"], ())):
                name, _, anchor = link.partition("#")
                assert FILES[REPORTS / engine / name].count(f'<a id="{anchor}"></a>') == 1, link


def test_a_defect_that_was_merged_or_split_leads_to_the_lines_that_hold_it():
    one = next(one for one in _published(REPORTS) if one.address == "torch")
    about, (group, *_) = one.ledger.fields, one.real
    merged = about.model_copy(update={"retired": {"TORCH-0900": [group[0].id]}})
    ledger = replace(one.ledger, fields=merged)
    site = page.Site(runs=[], bench=regenerate.timings.read(regenerate.BENCH), models=[])
    engine = page.Engine(replace(one, ledger=ledger), site)
    assert "torch-0900" in engine.anchors(group, "Any")
    assert merged.holding("TORCH-0900") == (group[0].id,)
    assert merged.holding(group[0].id) == (group[0].id,)


OLD, NEW = OpVersion("", "Abs", 6), OpVersion("", "Abs", 13)
LINE = """\
backend: acme
opsets: {{first: 13, last: 24, documented: Opset 13 and later.}}
retired: {{ACME-0009: []}}
known:
- {{id: ACME-0001, versions: ">=1", failure: raised, cause: No., where: [{{op: Abs}}]{more}}}
"""


def of_acme(tmp_path: Path, *results_: results.Result, more: str = "") -> published.Published:
    """The results of an engine with one defect, ACME-0001, of which `more` is stated."""
    (tmp_path / "acme.yaml").write_text(LINE.format(more=more))
    (ledger,) = load_ledgers([tmp_path / "acme.yaml"])
    suite = Suite("5eed", len(results_))
    head = results.Head("acme", "1.0", "2031-02-03", "0.2", "3.12", "here", "core", suite)
    return published.Published(head, results_, ledger, ())


def result(
    verdict: str, failure: str | None = None, op: OpVersion = NEW, clause: str = "", **words: Any
) -> results.Result:
    """A result of a case, which shows ACME-0001 if it is wrong."""
    found = Verdict(verdict)
    wrong = found not in (Verdict.PASS, Verdict.WARN, Verdict.UNSUPPORTED)
    kind = results.Kind(
        Verdict.KNOWN if wrong else found,
        found if wrong else None,
        failure,
        defect="ACME-0001" if wrong else None,
    )
    about = results.Words("c", "q", "r", **words) if words else None
    return results.Result("Abs/one@opset=13", "d", op, "float32", kind, about, clause)


@pytest.mark.parametrize(
    ("shown", "more", "harm"),
    [
        (("error", "raised"), "", Harm.REFUSED),
        (("fail", "values"), "", Harm.WRONG),
        (("crash", "crash"), "", Harm.WRONG),
        (("fail", "declared"), "", Harm.DECLARED),
        (("fail", "accepted"), ", kind: invalid model", Harm.ACCEPTED),
        (("crash", "crash"), ", kind: invalid model", Harm.ACCEPTED),
    ],
)
def test_a_defect_counts_once_by_what_it_does(tmp_path, shown, more, harm):
    one = of_acme(tmp_path, result(*shown), more=more)
    assert counts.by_harm(one) == {harm: 1}


@pytest.mark.parametrize(
    ("shown", "more", "marks"),
    [
        (result("error", "raised"), "", set()),
        (result("error", "raised", rulings=("So.",)), "", {Mark.RULED}),
        (result("error", "raised"), ", ruling: Or so.", {Mark.RULED}),
        (result("error", "raised"), ", documented: No Abs.", {Mark.DOCUMENTED}),
        (result("error", "raised"), ", erratum: The shape.", {Mark.ERRATA}),
        # A refusal outside the range that an engine states is documented, a wrong answer is not.
        (result("error", "raised", OLD), "", {Mark.OPSETS, Mark.DOCUMENTED}),
        (result("fail", "values", OLD), "", {Mark.OPSETS}),
    ],
)
def test_what_a_defender_says_stands_beside_the_count(tmp_path, shown, more, marks):
    one = of_acme(tmp_path, shown, more=more)
    (group,) = one.real
    assert counts.marks(one, group) == marks


def test_each_sentence_weighs_alike_and_what_is_documented_stands_apart(tmp_path):
    many = [result("pass", clause="many")] * 9 + [result("fail", "values", clause="many")]
    alone = [result("fail", "values", clause="alone"), result("unsupported", clause="missing")]
    refused = [result("error", "raised", OLD, "old")]
    assert score.share_right(of_acme(tmp_path, *many)) == pytest.approx(0.9)
    assert score.share_right(of_acme(tmp_path, *many, *alone)) == pytest.approx(0.45)
    assert score.share_right(of_acme(tmp_path, *many, *alone, *refused)) == pytest.approx(0.45)
    assert score.share_right(of_acme(tmp_path, result("unsupported"))) is None


def test_more_tests_of_one_sentence_do_not_change_the_score_of_others(tmp_path):
    few = [result("pass", clause="a"), result("fail", "values", clause="b")]
    more = [*few, *[result("fail", "values", clause="b")] * 20]
    assert score.share_right(of_acme(tmp_path, *few)) == 0.5
    assert score.share_right(of_acme(tmp_path, *more)) == 0.5


def test_a_run_with_options_is_a_row_after_that_of_its_engine(tmp_path):
    one = of_acme(tmp_path, result("pass"))
    exact = replace(one, options="precision=f32")
    bench = regenerate.timings.read(regenerate.BENCH)
    site = page.Site(runs=[one], bench=bench, models=[], variants=[exact])
    rows = [line for line in page._scoreboard(site) if line.startswith(("| [acme", "| acme"))]
    assert [row.split(" | ")[0] for row in rows[:2]] == [
        "| [acme 1.0](acme/README.md)",
        "| acme 1.0, precision=f32",
    ]


def test_an_interrupted_run_in_parts_takes_up_where_it_stopped(tmp_path, monkeypatch):
    path = tmp_path / "numpy.jsonl.gz"
    command = ("run", "-q", "-b", "numpy", "--op", "Hardmax", "--level", "smoke")
    store_part = regenerate._stored
    asked = []

    def interrupted(part: Path, words: Sequence[str], *others: str, **options: Any) -> bool:
        asked.append(words[-1])
        if asked == ["1/2", "2/2"]:
            return False
        return store_part(part, words, *others, **options)

    monkeypatch.setattr(regenerate, "_stored", interrupted)
    assert not regenerate._run_in_shards(path, command, 2, fine=(0,))
    assert regenerate._run_in_shards(path, command, 2, fine=(0,))
    assert asked == ["1/2", "2/2", "2/2"]
    run = store.read(path)
    assert run.complete
    assert {record.op.name for record in run.records} == {"Hardmax"}
    assert [*path.parent.rglob("*.gz")] == [path]


def test_a_row_by_options_may_show_failures_that_no_ledger_lists():
    assert regenerate._fine("openvino") == (0,)
    assert regenerate._fine("openvino-f32") == (0, 1)


def test_what_cases_ids_share_is_stored_once():
    ids = ["Add/one@opset=7", "Add/one@opset=13", "Add/two", "Add/two", "Sub/1 2"]
    short = results._shortened(ids)
    assert short == ["0 Add/one@opset=7", "14 13", "4 two", "7 ", "0 Sub/1 2"]
    assert results._whole(short) == ids


def test_runs_of_a_new_suite_replace_those_of_all_engines_of_a_level_or_none(tmp_path):
    path = tmp_path / "numpy.jsonl.gz"
    command = ("run", "-q", "-b", "numpy", "--op", "Hardmax", "--level", "smoke")
    assert regenerate._stored(path, command, "--report", "json=")
    old = store.read(path)
    new = replace(old, header=replace(old.header, suite=replace(old.header.suite, digest="ed17")))
    folder = tmp_path / "results"
    results.pack({"acme": old, "other": old}, folder)
    with pytest.raises(UsageError):
        results.pack({"acme": new}, folder)
    assert results.head(folder / "acme.json.gz").suite == old.header.suite
    results.pack({"acme": new, "other": new}, folder)
    for name in ("acme", "other"):
        stored = results.read(folder / f"{name}.json.gz")
        assert stored.head.suite == new.header.suite
        assert stored.head.instructions == new.header.environment.machine["instructions"]
        assert [one.case for one in stored.results] == [record.case for record in new.records]


def test_a_result_of_a_defect_that_turned_out_to_be_none_is_not_judged(tmp_path):
    old = result("error", "raised")
    old = replace(old, kind=replace(old.kind, defect="ACME-0009"))
    one = of_acme(tmp_path, old, result("fail", "values"))
    first, second = published._without_retired(one.results, one.ledger)
    assert (first.plain, second.plain) == (Verdict.NOT_RUN, Verdict.FAIL)


@pytest.mark.parametrize(
    ("words", "status"),
    [(["--help"], 0), (["--nothing"], 2), (["acme"], 2), (["torch", "acme"], 2)],
)
def test_confirm_asks_only_engines_that_there_are(words, status):
    with pytest.raises(SystemExit) as exit_:
        confirm._engines(words)
    assert exit_.value.code == status
    assert confirm._engines(["torch"]) == ["torch"]


FIRST_CHECK = """\
- defect: ORT-0001
  why: 3 is the maximum
  model: {opset: 13, x: {float31: [1]}}
  wants: [[1]]
  shows: {gives: [1], raises: no}
  control: {opset: 7, opsets: 3}
  control_wants: [1]
"""
WRONG_CHECKS = f"""\
op: Hardmax
checks:
{FIRST_CHECK}- defect: ORT-9999
  why: there is no such line
  model: {{opset: 13, x: {{float32: [1]}}}}
  wants: [[1]]
  shows: {{gives: [1]}}
  control: {{}}
  control_wants: [1]
"""


def test_every_mistake_in_a_file_of_checks_is_named_with_its_place(tmp_path):
    path = tmp_path / "Hardmax.yaml"
    path.write_text(WRONG_CHECKS)
    places = [(at.line, at.message) for at in error_of(CaseFileError, checks.load, [path]).problems]
    assert [line for line, _ in places] == [5, 7, 8]
    head, _, second = WRONG_CHECKS.replace(FIRST_CHECK, "#").partition("#")
    path.write_text(head + second)
    (problem,) = error_of(CaseFileError, checks.load, [path]).problems
    assert (problem.line, problem.column) == (3, 11)
    assert "ORT-9999" in problem.message


def test_a_control_is_the_model_but_for_what_it_states(tmp_path):
    path = tmp_path / "Hardmax.yaml"
    path.write_text(
        "op: Hardmax\nchecks:\n"
        "- {defect: ORT-0001, why: so, wants: [[1, 0]], shows: {leftovers: [2]},\n"
        "   model: {opset: 13, attrs: {axis: 0}, x: {int8: 3, shape: [4], put: [[1, -5]]}},\n"
        "   control: {attrs: {}}, control_wants: [0, 1]}\n"
    )
    (check,) = checks.load([path])
    assert (check.engine, check.model.op, check.control.opset) == ("onnxruntime", "Hardmax", 13)
    assert (check.model.attrs, check.control.attrs) == ({"axis": 0}, {})
    assert check.model.x.dtype == check.control.x.dtype == np.int8
    assert check.control.x.tolist() == [3, -5, 3, 3]


@pytest.mark.gate
def test_a_defect_that_one_kind_of_processor_shows_is_published_as_such():
    one = next(one for one in _published(REPORTS) if one.address == "openvino")
    seen = ((one.seen(defect), defect) for group in one.real for defect in group)
    hand, defect = next((hands[0], d) for hands, d in seen if hands and not hands[0]["limit"])
    limited = {**hand, "limit": "ONEDNN_MAX_CPU_ISA=AVX2"}
    other = {**hand, "processor": "another"}
    for hands, kinds in (([hand, limited], 1), ([hand, other], 2)):
        alone = replace(one, by_hand=tuple(hands))
        assert len(alone.processors((defect,))) == kinds
        assert ("**Seen on one kind" in "".join(page._by_hand(alone, defect))) is (kinds == 1)
    wrong = replace(one, by_hand=({**hand, "outcome": confirm.CONTROL},))
    assert "Not reproduced" in "".join(page._by_hand(wrong, defect))


def test_a_broken_ledger_is_reported_before_anything_runs(tmp_path, monkeypatch, capsys):
    broken = tmp_path / "acme.yaml"
    broken.write_text("backend: acme\nknow: []\n")
    monkeypatch.setattr(regenerate, "ledgers", lambda: load_ledgers([broken]))
    monkeypatch.setattr("sys.argv", ["regenerate.py"])
    assert regenerate.main() == 2
    assert "acme.yaml:2:1: unknown key 'know'" in capsys.readouterr().err


def test_a_run_that_fails_says_why_and_is_not_published(tmp_path, capsys):
    assert not regenerate._stored(tmp_path / "run.gz", ("run", "no-such-file.yaml"), "--save", "")
    assert not (tmp_path / "run.gz").exists()
    assert "run no-such-file.yaml" in capsys.readouterr().out


@pytest.mark.seconds(15)
@pytest.mark.gate
@needs_known_releases
@pytest.mark.parametrize("engine", ["onnxruntime", "reference"])
def test_defects_show_without_opcheck(engine):
    seen = list(confirm.shown([engine], [confirm.Processor("this one")]))
    assert len(seen) > 5
    rightly = [one for one in seen if one.outcome != confirm.SHOWS]
    assert {one.outcome for one in rightly} <= {confirm.RIGHT}
    sometimes = {check.defect for check in all_checks() if check.sometimes}
    assert {one.defect for one in rightly} <= sometimes


@pytest.mark.parametrize(
    ("check", "answer", "outcome"),
    [
        (CHECK, [[1, 0]], confirm.SHOWS),
        (CHECK, [[0, 1]], confirm.RIGHT),
        (CHECK, [[1, 1]], confirm.OTHERWISE),
        (CHECK, [1, 0], confirm.OTHERWISE),
        (CHECK, np.array([[1, 0]], np.float16), confirm.OTHERWISE),
        (CHECK, ImportError("no module named acme"), confirm.OTHERWISE),
        (replace(CHECK, shows=Raises("no kernel")), RuntimeError("no kernel"), confirm.SHOWS),
        (replace(CHECK, shows=Raises("no kernel")), RuntimeError("no memory"), confirm.OTHERWISE),
        (replace(CHECK, shows=Raises("no kernel")), [[1, 0]], confirm.OTHERWISE),
        (replace(CHECK, shows=Leftovers((2,))), [7, 8], confirm.SHOWS),
        (replace(CHECK, shows=Leftovers((1, 2))), [[0, 1]], confirm.RIGHT),
        (replace(CHECK, shows=Leftovers((2,))), [7], confirm.OTHERWISE),
        (SIGNED, [[-0.0, 1]], confirm.RIGHT),
        (SIGNED, [[0, 1]], confirm.SHOWS),
        (INVALID, [[1, 0]], confirm.SHOWS),
        (INVALID, RuntimeError("axis is out of range"), confirm.RIGHT),
        (INVALID, [[0, 1]], confirm.OTHERWISE),
    ],
)
def test_only_what_is_expected_of_a_defect_confirms_it(check, answer, outcome):
    if isinstance(answer, list):
        answer = np.array(answer, np.float32)
    assert confirm.judged(check, answer) == outcome


@pytest.mark.parametrize(
    ("answer", "outcome"), [([[0, 1]], confirm.RIGHT), (ImportError("gone"), confirm.CONTROL)]
)
def test_the_control_goes_through_the_same_code_and_has_to_be_right(monkeypatch, answer, outcome):
    def run(model, x):
        if isinstance(answer, Exception):
            raise answer
        return np.array(answer, np.float32)

    monkeypatch.setitem(confirm._RUN, "acme", run)
    assert confirm.controlled(CHECK)[0] == outcome


#: What a process prints on the check with this number before it dies, and its last words.
DYING = """
import json, os, sys
number = int(sys.argv[1])
for line in {0: [["answers rightly", "c"]], 1: [["answers rightly", "c"]], 2: []}[number]:
    print(json.dumps(line), flush=True)
sys.stderr.write(["index out of bounds", "out of memory", "index out of bounds"][number])
sys.stderr.flush()
os.abort()
"""


def test_only_the_expected_death_after_a_right_control_confirms_a_defect():
    dies = replace(CHECK, shows=Dies("index out of bounds"))
    asked = list(confirm.ask([sys.executable, "-c", DYING], [dies] * 3, {}))
    outcomes = [outcome for _, (_, outcome, _) in asked]
    assert outcomes == [confirm.SHOWS, confirm.OTHERWISE, confirm.CONTROL]
    assert asked[1][1][2].startswith("the process dies: ")


def test_bfloat16_is_stored_by_its_bits_and_fed_as_it_is():
    bits = {"raw_data": b"\x40\x40", "int32_data": [0x4040]}
    for stored, data in bits.items():
        three = replace(FED, x=np.array([3], ml_dtypes.bfloat16), stored=stored)
        (tensor,) = onnx.load_from_string(confirm._proto(three)).graph.initializer
        assert getattr(tensor, stored) == data
        assert onnx.numpy_helper.to_array(tensor).tolist() == [3.0]


def test_what_other_processors_showed_is_kept_while_the_check_is_the_same():
    here = confirm.Shown(*("onnxruntime", "1", "AVX2", "", *"abcdefg"))
    there = replace(here, processor="AVX-512")
    assert confirm.joined([here, there], [here]) == [there, here]
    for change in ({"asked": "x"}, {"version": "0"}, {"want": "x"}):
        assert confirm.joined([replace(there, **change)], [here]) == [here]
    other = replace(there, engine="tract")
    assert confirm.joined([other], [here]) == [here, other]
