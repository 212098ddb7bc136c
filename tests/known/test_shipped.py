from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from importlib.metadata import version as release
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from opcheck import backends, suite
from opcheck.analysis import reds
from opcheck.dtypes import DTYPES
from opcheck.errors import CaseFileError
from opcheck.known import VALUES, explain, load_ledgers, shipped_ledgers, within
from opcheck.model import FAILURES, BackendInfo, LiveResult, OpVersion, Rejected, Source, Verdict
from opcheck.report import store
from reports.results import head, read
from tests import inline
from tests.asking import every_line, loses, shipped_cases
from tests.node_tests import needs_known_releases
from tests.report.made import result
from tests.shell import ROOT
from tests.wording import lines_with

pytestmark = pytest.mark.reads_all_suites

SHIPPED = Source("cases/onnx/softmax.hardmax.yaml", 1, 1, shipped=True)
LINE = "{versions: '>=1', failure: values, cause: Because., where: [{op: Hardmax}]}"
RELEASES = {"onnxruntime": "onnxruntime", "reference": "onnx"}
#: The published results of the optional engines.
PUBLISHED = {
    name: ROOT / "reports" / "results" / f"{name}.json.gz"
    for name in ("openvino", "torch", "tract")
}
PLACE = ("op", "name", "row", "opset", "dtype", "attrs")
STRAY = ["stray_crash"]


def ledgers(folder: Path, *lines: str, backend: str = "acme"):
    file = folder / "acme.yaml"
    file.write_text("\n".join([f"backend: {backend}", "known:", *(f"- {line}" for line in lines)]))
    return load_ledgers([file])


def line(**fields: object) -> str:
    place = {"op": "Hardmax"} | {key: fields.pop(key) for key in PLACE if key in fields}
    stated = {"versions": "'>=1'", "failure": "values", "cause": "Because."} | fields
    return flow(stated if [stated["failure"]] == STRAY else {**stated, "where": f"[{flow(place)}]"})


def flow(fields: dict[str, Any]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in fields.items())}}}"


def failure(**fields):
    verdict, how = fields.pop("verdict", Verdict.FAIL), fields.pop("failure", "values")
    return replace(result(verdict, source=SHIPPED, **fields), failure=how)


def explained(found, said, version: str = "1.5", address: str = "acme", accumulate=()):
    return explain(said, found, BackendInfo(address, "acme", version, accumulate))


def is_known(found, said, **about: Any) -> bool:
    return explained(found, said, **about).verdict is Verdict.KNOWN


def test_a_listed_failure_is_known_and_keeps_what_was_found(tmp_path):
    said = ledgers(tmp_path, line(link="'https://example.org/1'"))
    known = explained(failure(reason="wrong"), said)
    assert known.verdict is Verdict.KNOWN
    assert known.found is Verdict.FAIL
    assert known.reason == "wrong"
    assert known.known is not None
    assert (known.known.cause, known.known.link) == ("Because.", "https://example.org/1")
    assert known.known.ledger == "acme.yaml"


FIELDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "op": ("Hardmax", "Softmax", {"op": OpVersion("", "Softmax", 13)}),
    "name": ("first_of_ties", "nan", {"name": "nan"}),
    "row": ("axis_0", "axis_1", {"row": "axis_1"}),
    "opset": ("13", "11", {"opset": 11}),
    "dtype": ("float32", "float16", {"dtype": DTYPES["float16"]}),
    "attrs": ("{axis: 0}", "{axis: null}", {"attrs": {}}),
}
FORMS = [(f, form) for f in FIELDS if f != "attrs" for form in ("{}", "[{}]", "[{}, {}]")]


@pytest.mark.parametrize(("field", "form"), [*FORMS, ("attrs", "{}")])
def test_each_field_decides_as_a_word_and_as_a_list(tmp_path, field, form):
    here, other, changed = FIELDS[field]
    alike = ledgers(tmp_path, line(**{field: form.format(here, other)}))
    assert is_known(failure(), alike)
    assert is_known(failure(**changed), alike) is (form == "[{}, {}]")
    assert not is_known(failure(), ledgers(tmp_path, line(**{field: other})))


PLACES = "[{op: Softmax}, {op: Hardmax, opset: 11}, {op: Hardmax, row: axis_1}]"
LISTED: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
    "any item, and null is left out": (
        line(attrs="{axis: [0, null]}"),
        [{"attrs": {"axis": 0}}, {"attrs": {}}],
        [{"attrs": {"axis": 1}}],
    ),
    "a list as a whole": (
        line(attrs="{pads: [[1, 1], [2, 2]]}"),
        [{"attrs": {"pads": (2, 2)}}],
        [{"attrs": one} for one in ({"pads": (1, 2)}, {"pads": (1,)}, {"pads": 1}, {})],
    ),
    "every place": (
        f"{{versions: '>=1', failure: values, cause: Because., where: {PLACES}}}",
        [{"opset": 11}, {"row": "axis_1"}],
        [{}],
    ),
    "a dtype, and a case without one": (line(dtype="float32"), [{}], [{"dtype": None}]),
    "a row, and a case without one": (line(row="axis_0"), [{}], [{"row": None}]),
    "several ways to fail": (
        line(failure="[shape, unstable]"),
        [{"failure": "shape"}, {"failure": "unstable", "verdict": Verdict.UNSTABLE}],
        [{"failure": "values"}],
    ),
}


@pytest.mark.parametrize("what", LISTED)
def test_a_line_is_about_what_it_states_and_nothing_else(tmp_path, what):
    text, fitting, others = LISTED[what]
    said = ledgers(tmp_path, text)
    assert all(is_known(failure(**one), said) for one in fitting)
    assert not any(is_known(failure(**one), said) for one in others)


@pytest.mark.parametrize("backend", ["acme", "[bolt, acme]"])
def test_a_ledger_is_about_the_addresses_it_names(tmp_path, backend):
    said = ledgers(tmp_path, LINE, backend=backend)
    assert is_known(failure(), said)
    assert not is_known(failure(), said, address="acme:GPU")


def test_the_first_line_that_explains_a_failure_counts(tmp_path):
    lines = [line(failure="raised", cause="One."), line(cause="Two."), line(cause="Three.")]
    assert explained(failure(), ledgers(tmp_path, *lines)).known.cause == "Two."


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.NOT_RUN, Verdict.BAD_CASE])
def test_what_is_no_failure_needs_no_cause(tmp_path, verdict):
    assert explained(failure(verdict=verdict), ledgers(tmp_path, LINE)).verdict is verdict


@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize("verdict", sorted(reds(strict=True) - {Verdict.UNEXPECTED_PASS}))
def test_a_line_explains_one_way_to_fail_whatever_the_rule_makes_of_it(tmp_path, verdict, how):
    found = failure(verdict=verdict, failure=how)
    for other in FAILURES:
        assert is_known(found, ledgers(tmp_path, line(failure=other))) is (other == how)


def test_what_fails_only_sometimes_may_pass(tmp_path):
    said = ledgers(tmp_path, line(sometimes="true"))
    assert is_known(failure(), said)
    assert explained(failure(verdict=Verdict.PASS), said).known is None
    later = ledgers(tmp_path, line(sometimes="true"), line(cause="Always."))
    assert explained(failure(verdict=Verdict.PASS), later).known.cause == "Always."


def test_a_stray_crash_hits_cases_that_no_line_names(tmp_path):
    said = ledgers(tmp_path, line(failure="stray_crash", sometimes="true"))
    assert is_known(failure(verdict=Verdict.CRASH, failure="stray_crash"), said)
    assert not is_known(failure(verdict=Verdict.CRASH, failure="crash"), said)
    assert explained(failure(verdict=Verdict.PASS), said).known is None


def test_a_case_of_ones_own_is_never_explained(tmp_path):
    said = ledgers(tmp_path, LINE)
    assert not is_known(result(Verdict.FAIL), said)
    assert explained(result(), said).known is None


def test_a_pass_stays_one_with_the_line_that_denies_it(tmp_path):
    found = explained(failure(verdict=Verdict.PASS), ledgers(tmp_path, line(failure="raised")))
    assert found.verdict is Verdict.PASS
    assert found.known.cause == "Because."


def test_a_pass_of_a_backend_with_declared_arithmetic_denies_no_line(tmp_path):
    said, address = ledgers(tmp_path, LINE), "acme?accumulate=float16"
    asked = {"address": address, "accumulate": ("float16",)}
    assert explained(failure(verdict=Verdict.PASS), said, **asked).known is None
    assert is_known(failure(), said, **asked)


@pytest.mark.parametrize(
    ("version", "versions", "within"),
    [
        ("1.31.1", ">=1.24", True),
        ("1.9.0", ">=1.24", False),
        ("1.31.1", ">=1.24,<1.31", False),
        ("1.31.1", "==1.31.*", True),
        ("1.31.1+cpu", ">=1.24", True),
        ("1.31.1+cpu", "==1.31.1", True),
        ("1.32.0.dev20260101", ">=1.24", True),
        ("1.32.0rc1", ">=1.32", False),
        ("1.5", "", True),
        # Nobody can tell whether these are within any range.
        ("", ">=0", False),
        ("", "", False),
        ("abc", ">=0", False),
        ("unknown", "", False),
    ],
)
def test_a_line_holds_for_its_versions_not_another_s(tmp_path, version, versions, within):
    said = ledgers(tmp_path, line(versions=f"'{versions}'"))
    assert [is_known(failure(), said, version=one) for one in ("", version)] == [False, within]


def numbered(folder: Path, head: str, *ids: str):
    """A ledger with a head, and a line for each id."""
    lines = "".join(f"- {line(id=id)}\n" if id else f"- {line()}\n" for id in ids)
    (folder / "acme.yaml").write_text(f"backend: acme\n{head}known:\n{lines}")
    return load_ledgers([folder / "acme.yaml"])


def test_the_id_of_a_line_is_that_of_the_defect_that_it_explains(tmp_path):
    said = numbered(tmp_path, "last_id: ACME-0001\n", "ACME-0001")
    assert explained(failure(), said).known.id == "ACME-0001"
    assert explained(failure(), ledgers(tmp_path, line())).known.id is None


def test_a_retired_id_leads_to_the_lines_that_hold_the_defect(tmp_path):
    retired = "retired: {ACME-0002: [ACME-0001, ACME-0003], ACME-0004: []}\n"
    (ledger,) = numbered(tmp_path, f"last_id: ACME-0004\n{retired}", "ACME-0001", "ACME-0003")
    assert ledger.fields.holding("ACME-0002") == ("ACME-0001", "ACME-0003")
    assert ledger.fields.holding("ACME-0003") == ("ACME-0003",)
    assert ledger.fields.holding("ACME-0004") == ()


@pytest.mark.parametrize(
    ("head", "ids", "place"),
    [
        # An id that was given is gone: it would be given again.
        ("last_id: ACME-0002\n", ["ACME-0001"], ":2:10: "),
        ("last_id: ACME-0002\n", ["ACME-0002"], ":2:10: "),
        # A line has an id of nobody's, or none.
        ("last_id: ACME-0001\n", ["ACME-0001", "ACME-0002"], ":5:3: "),
        ("last_id: ACME-0001\n", ["ACME-0001", ""], ":5:3: "),
        ("last_id: ACME-0001\n", ["ACME-0001", "BOLT-0001"], ":5:3: "),
        # An id is retired and used, or leads to none that is there.
        ("retired: {ACME-0001: []}\n", ["ACME-0001"], ":4:"),
        ("retired: {ACME-0002: [ACME-0003]}\n", ["ACME-0001"], ":2:"),
    ],
)
def test_an_id_is_given_once_and_never_lost(tmp_path, head, ids, place):
    with pytest.raises(CaseFileError) as caught:
        numbered(tmp_path, head, *ids)
    assert any(f"acme.yaml{place}" in said for said in caught.value.lines())


def test_every_shipped_line_has_an_id_that_no_other_has():
    ids = [line.id for ledger in shipped_ledgers() for line in ledger.fields.known]
    assert all(ids)
    assert len({*ids}) == len(ids)
    prefixes = [ledger.fields.last_id.partition("-")[0] for ledger in shipped_ledgers()]
    assert len({*prefixes}) == len(shipped_ledgers()) == 5


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (line(versions="'1.24'"), ":3:14: "),
        (line(versions="'>=x'"), ":3:14: "),
        (line(failure="pass"), ":3:30: "),
        (line(kind="invalid"), ":3:61: "),
        (line(same_as="Because"), ":3:64: "),
        (line(same_as="ACME-0001"), ":3:64: "),
        (line(id="ACME-1"), ":3:59: "),
        (f"{line(id='ACME-0001')}\n- {line(id='ACME-0001')}", ":4:59: "),
        (line(clause="x"), ":3:3: "),
        (LINE.replace("values", "stray_crash"), ":3:3: "),
        ("{op: Hardmax}", ":3:3: "),
        ("[", ":4:1: "),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, text, place, wording):
    with pytest.raises(CaseFileError) as caught:
        ledgers(tmp_path, text)
    assert lines_with(caught.value.lines(), f"acme.yaml{place}") == wording


@pytest.fixture(scope="module")
def cases():
    return suite.select(shipped_cases(), suite.Selection(level="deep"))


@pytest.fixture(scope="module")
def deep(cases):
    return by_operator((case.op.name, case) for case in cases if case.level == "deep")


@pytest.fixture(scope="module")
def judged(cases, deep, first_run):
    """Results of the backends that have ledgers, before any ledger is asked.

    Of every core case, as the first run has them, or the published one of an optional engine; and
    of the deep ones that a line of the same engine is about. Left out are those that it dies of,
    and of a line about an arithmetic, whose cases are the largest of all, the operators that a core
    case shows.
    """
    by_id = {case.id: case for case in cases}
    results = []
    run = store.read(first_run.stored)
    infos = {info.address: info for info in run.header.backends}
    assert {record.case for record in run.records} == {c.id for c in cases if c.level != "deep"}
    results += [
        (
            LiveResult(by_id[r.case], r.backend, r.found or r.verdict, failure=r.failure),
            infos[r.backend],
        )
        for r in run.records
        if r.backend != "numpy"
    ]
    for name, path in PUBLISHED.items():
        published = read(path)
        info = BackendInfo(name, name, published.head.version)
        # Of cases that were edited since, or are new, nothing is known.
        results += [
            (LiveResult(case, name, r.plain, failure=r.kind.failure), info)
            for r in published.results
            if (case := by_id.get(r.case)) and suite.case_digest(case).startswith(r.digest)
        ]
    for address in RELEASES:
        backend = backends.connect(address)
        lines = every_line(address)
        about = {}
        for stated in (line for line in lines if not loses(line)):
            shown = {
                found.case.op.name
                for found, info in results
                if of_whole_types(stated)
                and info.address == address
                and found.failure in stated.failure
                and stated.is_about(found.case)
            }
            fitting = (case for case in among(stated.where, deep) if stated.is_about(case))
            about |= {case.id: case for case in fitting if case.op.name not in shown}
        fatal = [line for line in lines if loses(line)]
        alive = [case for case in about.values() if not any(x.is_about(case) for x in fatal)]
        results += [(found, backend.info) for found in inline.judged(alive, [backend])]
    return results


def by_operator(named):
    """The items of pairs of an operator's name and an item, by the operator."""
    found = defaultdict(list)
    for op, one in named:
        found[op].append(one)
    return found


def among(where, of):
    """The items of the operators that places name, which are few of all."""
    ops = [op for place in where for op in place.op or ()]
    ops += [case.partition("/")[0] for place in where for case in place.case or ()]
    return chain(*(of[op] for op in sorted({*ops})))


def of_whole_types(stated):
    """Whether a line is about an arithmetic, right by chance, or about what another case did."""
    return stated.failure in (STRAY, ["precision"]) and all(p.name is None for p in stated.where)


def published_release(path):
    """The version of an engine that was run."""
    return head(path).version


def shipped_lines():
    """The lines that are about the releases that were run."""
    versions = {name: published_release(path) for name, path in PUBLISHED.items()}
    versions |= {name: release(package) for name, package in RELEASES.items()}
    return [
        pytest.param(ledger, number, id=f"{ledger.file}-{number}")
        for ledger in shipped_ledgers()
        for number, stated in enumerate(ledger.fields.known)
        if stated.where and within(versions[Path(ledger.file).stem], stated.versions)
    ]


@pytest.fixture(scope="module")
def judged_of(judged):
    return by_operator((found.case.op.name, (found, info)) for found, info in judged)


@pytest.fixture(scope="module")
def explained_by(judged_of):
    """The results that one line alone explains."""
    by_file = {ledger.file: ledger for ledger in shipped_ledgers()}

    @cache
    def by(file, number):
        fields = by_file[file].fields
        stated = fields.known[number]
        alone = replace(by_file[file], fields=fields.model_copy(update={"known": [stated]}))
        asked = [explain([alone], found, info) for found, info in among(stated.where, judged_of)]
        return [found for found in asked if found.verdict is Verdict.KNOWN]

    return lambda ledger, number: by(ledger.file, number)


@pytest.mark.gate
@needs_known_releases
@pytest.mark.parametrize(("ledger", "number"), shipped_lines())
def test_no_word_of_lines_is_dead_or_too_wide(cases, deep, judged_of, explained_by, ledger, number):
    stated = ledger.fields.known[number]
    seen = [found.case for found in explained_by(ledger, number)]
    assert len(seen) < (len(cases) - sum(map(len, deep.values()))) / 5
    # An optional engine's run is of the core; a stray crash hides the rest.
    if Path(ledger.file).stem in PUBLISHED or loses(stated):
        of_ops = among(stated.where, judged_of)
        hidden = (found.case for found, _ in of_ops if found.failure in STRAY)
        seen += [case for case in chain(among(stated.where, deep), hidden) if stated.is_about(case)]
    assert seen or stated.sometimes
    for place in () if stated.sometimes else stated.where:
        for field, value_of in VALUES.items():
            assert {*(getattr(place, field) or ())} <= {*map(value_of, seen)}, field


@pytest.mark.gate
@needs_known_releases
@pytest.mark.parametrize(("ledger", "number"), shipped_lines())
def test_every_case_that_a_shipped_line_is_about_fails_as_it_says(judged_of, ledger, number):
    # Were a case covered that does not fail, a new defect there would be taken for this one. Not
    # so with a poorer arithmetic or a stray crash: what else is wrong there fails in another way.
    stated = ledger.fields.known[number]
    if of_whole_types(stated):
        assert all({*(p.dtype or ())} <= {"float16", "bfloat16"} for p in stated.where)
        return
    sometimes = {one.cause for one in ledger.fields.known if one.sometimes}
    for found, info in among(stated.where, judged_of):
        its_own = info.address in ledger.fields.backend and within(info.version, stated.versions)
        if its_own and stated.is_about(found.case):
            why = explain([ledger], found, info)
            by_chance = stated.sometimes or (why.known and why.known.cause in sometimes)
            fine = by_chance and why.verdict in (Verdict.PASS, Verdict.KNOWN)
            assert fine or found.failure in stated.failure, found.case.id


@pytest.mark.gate
def test_no_failure_is_explained_by_two_shipped_lines(explained_by):
    causes: Counter[tuple[str, str]] = Counter()
    for parameters in shipped_lines():
        causes.update((found.case.id, found.backend) for found in explained_by(*parameters.values))
    assert [key for key, count in causes.items() if count > 1] == []


@pytest.mark.seconds(8)
@pytest.mark.gate
@pytest.mark.usefixtures("each_gate")
def test_every_place_of_a_shipped_line_is_about_a_shipped_case(cases):
    # Of the lines about earlier releases, this is all that can be seen here.
    by_op = by_operator((case.op.name, case) for case in cases)
    for stated in (line for line in every_line() if line.where):
        invalid = []
        for place in stated.where:
            about = [case for case in among([place], by_op) if place.fits(case)]
            assert about, stated.cause
            for field in ("name", "row", "opset"):
                met = {getattr(case, field) for case in about}
                assert set(getattr(place, field) or ()) <= met, stated.cause
            invalid += [isinstance(case.expect, Rejected) for case in about]
        whole = stated.kind == "invalid model"
        assert whole is (bool(invalid) and all(invalid)), stated.cause


def test_a_shipped_ledger_is_named_like_its_backend_and_closes_its_sentences():
    for ledger in shipped_ledgers():
        assert Path(ledger.file).stem in ledger.fields.backend
        # A stored result names its line by the cause.
        causes = Counter(stated.cause for stated in ledger.fields.known)
        assert [cause for cause, count in causes.items() if count > 1] == []
        for stated in ledger.fields.known:
            assert stated.cause.endswith(".")
            assert stated.link is None or stated.link.startswith("https://")


@pytest.mark.gate
@needs_known_releases
def test_every_failure_of_the_shipped_suites_is_explained(judged):
    # Of an optional engine, the cases that a line is about.
    lines = {name: [x for x in every_line(name) if x.failure != STRAY] for name in PUBLISHED}
    open_ones = [
        (found.case.id, info.address)
        for found, info in judged
        if explain(shipped_ledgers(), found, info).verdict in reds(strict=True)
        and (info.address in RELEASES or any(x.is_about(found.case) for x in lines[info.address]))
    ]
    assert open_ones == []
