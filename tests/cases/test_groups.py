from dataclasses import replace

from opcheck.clauses import CheckedSentence, Sentence, Survey
from opcheck.known import Ledger, LedgerFields
from opcheck.model import MutantId, Mutation, OpVersion, Source
from tests.cases.groups import groups
from tests.report.made import CASE

HARDMAX = OpVersion("", "Hardmax", 13)


def case(name, row="a", **fields):
    source = replace(CASE.source, shipped=True)
    made = replace(CASE, id=f"Hardmax/{name}#{row}", name=name, row=row, source=source)
    return replace(made, **fields)


def mutation(name, killers=(), noticers=(), harmless=None):
    ids = [tuple(f"Hardmax/{one}" for one in names) for names in (killers, noticers)]
    return Mutation(MutantId(HARDMAX, "float32", name, name), harmless, *ids)


def survey(**tested):
    """A page with a sentence for each keyword, tested by the cases of these names."""
    source = Source("clauses.yaml", 1, 1)
    sentences = tuple(
        CheckedSentence(Sentence(text, "Summary", (), None, None, source), dict.fromkeys(names, 1))
        for text, names in tested.items()
    )
    return Survey(HARDMAX, "https://example.org", sentences, ())


CASES = [case("ties"), case("ties", "b"), case("nan"), case("random")]


def by_name(mutations=(), surveys=(), cases=CASES, ledgers=()):
    return {group.name: group for group in groups(cases, mutations, surveys, ledgers)}


def ledger(**causes):
    """Defects of a backend by their causes, each in these places of Hardmax."""
    lines = [
        {
            "versions": ">=1",
            "failure": "values",
            "cause": cause,
            "where": [{"op": "Hardmax", **place} for place in places],
        }
        for cause, places in causes.items()
    ]
    fields = LedgerFields.model_validate({"backend": ["acme", "acme:gpu"], "known": lines})
    return Ledger("acme.yaml", fields)


def test_a_group_is_the_cases_of_one_name_in_their_order():
    found = by_name()
    assert [(g.name, g.op, g.cases) for g in found.values()] == [
        ("ties", "Hardmax", 2),
        ("nan", "Hardmax", 1),
        ("random", "Hardmax", 1),
    ]
    assert found["ties"].source == str(CASE.source)
    assert all(group.shows_nothing for group in found.values())


def test_names_of_two_operators_are_two_groups():
    other = replace(case("ties"), op=OpVersion("", "Softmax", 13), id="Softmax/ties")
    found = groups([*CASES, other], [mutation("x", ["ties#a"])], ())
    ties = [(g.op, g.shows_nothing) for g in found if g.name == "ties"]
    assert ties == [("Hardmax", False), ("Softmax", True)]


def test_what_one_group_alone_kills_or_notices_while_none_kills_speaks_for_it():
    found = by_name(
        [
            mutation("last", ["ties#b"]),
            mutation("both", ["ties#a", "random#a"]),
            mutation("skipped", noticers=["nan#a"], harmless="the text leaves it open"),
            mutation("killed", ["ties#a", "random#a"], ["nan#a"]),
            mutation("noticed", (), ["ties#a", "random#a"]),
        ]
    )
    assert [mutant.name for mutant in found["ties"].alone] == ["last"]
    assert [mutant.name for mutant in found["nan"].alone] == ["skipped"]
    assert found["random"].shows_nothing


def test_so_does_a_sentence_that_no_other_group_tests():
    page = survey(first=["ties", "nan#a"], default=["ties#b"], range=["nan#a", "nan#b"], idle=[])
    found = by_name(surveys=[page, page])
    assert found["ties"].sentences == ("default",)
    assert found["nan"].sentences == ("range",)
    assert found["random"].shows_nothing


def test_so_does_a_known_defect_of_a_backend_that_no_other_group_finds():
    known = ledger(
        ties_in_rows=[{"name": "ties", "row": "b"}],
        ties_anywhere=[{"name": "ties"}, {"row": "b"}],
        both=[{"name": ["ties", "nan"]}],
        all_of_it=[{}],
        none_of_it=[{"dtype": "float16"}],
    )
    found = by_name(ledgers=[known, ledger(nan=[{"name": "nan"}])])
    assert found["ties"].defects == (("acme", "ties_in_rows"), ("acme", "ties_anywhere"))
    assert found["nan"].defects == (("acme", "nan"),)
    assert found["random"].shows_nothing
    assert not found["nan"].shows_nothing


def test_names_of_other_people_s_cases_mean_nothing_to_a_ledger():
    theirs = [replace(one, source=replace(one.source, shipped=False)) for one in CASES]
    assert by_name(cases=theirs, ledgers=[ledger(nan=[{"name": "nan"}])])["nan"].shows_nothing


def test_examples_and_open_questions_need_no_other_reason():
    cases = [case("worked_example_of_ties"), case("node_tests"), case("asks", rule="open")]
    found = by_name(cases=cases)
    assert [g.example for g in found.values()] == [True, True, False]
    assert [g.undecided for g in found.values()] == [False, False, True]
    assert not any(group.shows_nothing for group in found.values())
