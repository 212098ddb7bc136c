"""A run as one HTML page: whole, safe, and never greener than the run."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from opcheck.analysis import outcome
from opcheck.model import Diagnosis, Ending, OpVersion, Verdict
from opcheck.report import plain_text
from opcheck.report.html import run_page
from tests.examples import examples
from tests.report.html.many import many, pictured
from tests.report.html.seen import Seen, data_of
from tests.report.made import record
from tests.report.runs import HOSTILE, KNOWN, WRONG, every_verdict, hostile, run_of
from tests.wording import lines_with

TEXTS = st.text(st.characters(), min_size=1, max_size=40) | st.sampled_from(HOSTILE)


def page_of(run):
    return "\n".join(run_page.lines(run))


@pytest.fixture(scope="module")
def everything():
    return page_of(run_of(*every_verdict(), *every_verdict("bolt:x?y=1")))


def failing(**fields):
    """A failure with a picture."""
    (one,) = record(Verdict.FAIL, comparisons=(WRONG,), **fields).comparisons
    drawn = replace(one, picture=pictured())
    return replace(record(Verdict.FAIL, reason="output: wrong", **fields), comparisons=(drawn,))


def test_each_failure_explains_itself(everything):
    page = Seen(everything)
    # A failure, an error, a crash, a timeout, an oom, an unstable one of each; a case that is wrong
    # is told once, for all backends.
    assert len(page.all("details", "failure")) == 17
    for said in (
        "“1 if the element is the first maximum value, 0 otherwise”",
        "the last of equal maxima won (last_of_ties)",
        "output: exactly where axis 0 is 1",
        "9 of 12 elements wrong",
        "The 2 worst are shown.",
        "used ∞: no error is allowed",
        "last\nwords",
        "opcheck run my/ties.yaml --case",
    ):
        assert said in page.text, said


def test_the_matrix_says_every_verdict_in_signs_and_numbers(everything):
    cell = re.search(r'<td class="all \w+"><a [^>]*>(.*?)</a>', everything, re.DOTALL)[1]
    told = re.sub(r"<.*?>", " ", cell).split()
    assert {*told} == {*"BCMTSFDEU?WK✓≡–", "1"}
    assert len(told) == 2 * len(Verdict) + 2  # and what the engine says of itself


def test_a_distance_across_zero_is_not_shown(everything):
    # It is 1 where 0 is right, as far as all numbers between them.
    assert "1,065,353,216" not in Seen(everything).text


@pytest.mark.parametrize(
    ("want", "got", "ulp", "shown"),
    [
        ("0.5", "0.25", 8_388_608, "8,388,608"),
        ("0", "1e-07", 900_000_000, ""),
        ("-0.0", "1", 1_065_353_216, ""),
        ("0.5", "-0.5", 2_113_929_216, ""),
        ("0", "-0", 0, "0"),
        ("1", "nan", None, ""),
    ],
)
def test_a_distance_is_shown_between_numbers_of_one_sign(want, got, ulp, shown):
    failure = record(Verdict.FAIL, comparisons=(WRONG,))
    (compared,) = failure.comparisons
    element = replace(compared.worst[0], want=want, got=got, ulp=ulp)
    compared = replace(compared, worst=(element,), max_ulp=ulp)
    page = page_of(run_of(replace(failure, comparisons=(compared,))))
    row = re.search(r'class="diff".*?<tbody>\s*<tr>(.*?)\n', page, re.DOTALL)
    assert row
    _, _, _, _, _, distance, _ = re.split("<td[^>]*>", row[1])
    assert distance == shown
    assert ("ULP</b>" in page) == bool(shown)


@pytest.mark.parametrize(("used", "words"), [(2.5, "2.5 ×"), (6.48e43, "more than 1,000 ×")])
def test_a_huge_error_is_shown_as_more_than_a_thousand_times(used, words):
    wrong = replace(WRONG, used=used)
    page = page_of(run_of(record(Verdict.FAIL, comparisons=(wrong,))))
    assert f"{words} what is allowed" in Seen(page).text
    assert "e+43" not in page


def test_what_is_wrong_stands_above_the_matrix(everything):
    places = [
        everything.index(f'<section id="{name}"') for name in ("totals", "failures", "matrix")
    ]
    assert places == sorted(places)


def rows_of(page):
    """The operator versions of the matrix."""
    return re.findall(r'<th scope="rowgroup" rowspan="\d+">([\w<>-]+?)(?:<th|$)', page)


def test_operators_with_most_failures_come_first_and_unsupported_ones_are_folded(wording):
    relu, gelu, conv = (OpVersion("", name, 13) for name in ("Relu", "Gelu", "Conv"))
    records = [
        record(op=gelu),
        record(Verdict.FAIL, op=relu),
        record(Verdict.UNSUPPORTED, op=conv),
        record(op=relu),
    ]
    page = page_of(run_of(*records))
    assert rows_of(page) == ["Relu-13", "Gelu-13"]
    assert lines_with(page, '<details class="folded">') == wording


def test_an_unsupported_operator_that_fails_the_run_has_a_row():
    run = run_of(record(Verdict.UNSUPPORTED))
    required = replace(run, header=replace(run.header, require_supported=True))
    assert rows_of(page_of(required)) == ["Hardmax-13"]


def test_types_have_no_column_if_no_case_has_one():
    assert "<th>all</tr>" in page_of(run_of(record(dtype=None)))
    assert "<th>all<th>float32<th>mixed</tr>" in page_of(run_of(record(), record(dtype=None)))


@pytest.mark.parametrize(
    ("strict", "conforming", "share"), [(False, 2, "100.0 %"), (True, 1, "50.0 %")]
)
def test_a_warning_conforms_unless_it_fails_the_run(strict, conforming, share):
    run = run_of(record(), record(Verdict.WARN))
    page = page_of(replace(run, header=replace(run.header, strict=strict)))
    cells = re.findall(r'<td class="num" data-label="[\w ]+">([^<]+)', page)
    assert cells[:4] == [str(conforming), str(conforming - 1), "2", share]


def test_its_head_says_what_the_run_amounts_to(everything):
    code, meaning = outcome(run_of(*every_verdict(), *every_verdict("bolt:x?y=1")))
    assert meaning in Seen(everything).text
    assert f"exit code {int(code)}" in Seen(everything).text
    assert f"<title>opcheck: {meaning}</title>" in everything


def test_a_green_run_says_that_nothing_failed():
    page = Seen(page_of(run_of(record(), record())))
    assert "Nothing failed." in page.text
    assert not page.all("details", "failure")
    assert page.all("p", "outcome")[0]["class"] == "outcome pass"


@pytest.mark.parametrize("ending", [None, Ending(False, 4, "cut short")])
def test_an_incomplete_run_says_so_before_anything_else(ending, wording):
    html = page_of(replace(run_of(record(), cases=5), ending=ending))
    assert lines_with(html, '<p class="banner"') == wording
    page = Seen(html)
    assert page.text.index("INCOMPLETE") < page.text.index("Totals")
    assert "Nothing failed." not in page.text
    assert page.all("p", "outcome")[0]["class"] == "outcome red"


def test_a_run_that_judged_nothing_is_not_shown_as_green():
    for run in (run_of(record(Verdict.UNSUPPORTED)), run_of(backends=["acme"]), run_of()):
        page = Seen(page_of(run))
        assert "nothing was judged" in page.text
        assert "Nothing failed." not in page.text
        assert page.all("p", "outcome")[0]["class"] == "outcome red"


def test_a_process_that_died_between_questions_is_told():
    run = run_of(record(), ending=Ending(True, 1, "", accidents=("acme: it died",)))
    page = Seen(page_of(run))
    assert "acme: it died" in page.text
    assert page.all("p", "outcome")[0]["class"] == "outcome red"


def test_what_is_red_by_an_option_is_a_failure_here_too():
    run = run_of(record(Verdict.WARN, reason="so"), record())
    strict = replace(run, header=replace(run.header, strict=True))
    assert not Seen(page_of(run)).all("details", "failure")
    page = page_of(strict)
    assert len(Seen(page).all("details", "failure")) == 1
    assert "not explained: warn" in page
    assert [row["tone"] for row in data_of(page)] == ["red", "pass"]


def test_failures_stand_under_their_causes_the_most_frequent_first(wording):
    causes = [Diagnosis("a", "as if a"), Diagnosis("b", "as if b")]
    run = run_of(
        record(Verdict.FAIL, diagnoses=(causes[0],)),
        *(record(Verdict.FAIL, diagnoses=(causes[1],)) for _ in range(3)),
        record(Verdict.CRASH, failure="crash", reason="killed by SIGSEGV"),
        record(Verdict.BAD_CASE, reason="it contradicts itself"),
    )
    page = page_of(run)
    text = Seen(page).text
    said = ("as if b (b)", "as if a (a)", "not explained: dies", "the case itself is wrong")
    heads = [text.index(head) for head in said]
    assert heads == sorted(heads)
    assert lines_with(page, "<h3>acme") == wording


def test_known_defects_are_told_by_cause_with_a_link_to_their_cases():
    known = [record(Verdict.KNOWN, known=KNOWN) for _ in range(3)]
    html = page_of(run_of(*known, replace(known[0], found=Verdict.UNSUPPORTED)))
    assert [row["known"] for row in data_of(html)] == [0, 0, 0, -1]
    page = Seen(html)
    assert KNOWN.cause in page.text
    (link,) = [one for one in page.all("a") if one.get("data-filter") == "known=0"]
    assert link["href"] == "#results"
    assert "https://x.org/1" in {one["href"] for one in page.all("a")}


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "file:///etc", " https:x"]
)
def test_only_addresses_of_the_web_become_links(link):
    page = Seen(page_of(run_of(record(Verdict.KNOWN, known=replace(KNOWN, link=link)))))
    assert link in page.text
    assert link not in {one["href"] for one in page.all("a")}


def test_the_list_has_every_result_with_the_command_that_repeats_it():
    run = run_of(*every_verdict(), *every_verdict("bolt:x?y=1"))
    rows = data_of(page_of(run))
    assert [row["case"] for row in rows] == [one.case for one in run.records]
    assert [row["verdict"] for row in rows[:3]] == ["pass", "self", "known"]
    for row, one in zip(rows, run.records, strict=True):
        # `run_of` gives cases names of their own, which commands do not know.
        assert row["repeat"].replace("\ufffc", row["case"]) == one.repeat


def test_a_share_is_never_rounded_up_to_all():
    run = run_of(*(record() for _ in range(2999)), record(Verdict.FAIL))
    assert "99.9 %" in Seen(page_of(run)).text


def test_equal_pictures_are_drawn_once_and_shown_everywhere(wording):
    page = Seen(page_of(run_of(*(failing() for _ in range(5)))))
    names = [one["id"] for one in page.all("symbol")]
    assert len(names) == 2  # a map and a histogram
    used = [one["href"] for one in page.all("use")]
    assert sorted(used) == sorted(f"#{name}" for name in names * 5)
    labels = {str(one["aria-label"]) for one in page.all("svg", "plot")}
    assert sorted(label.partition(": ")[0] for label in labels) == wording


def test_a_page_says_how_many_pictures_it_lacks(monkeypatch, wording):
    monkeypatch.setattr(run_page, "ROOM", 0)
    html = page_of(many(40, ("acme",), failing=1.0))
    page = Seen(html)
    assert len(page.all("symbol")) == 2
    assert len(page.all("svg", "plot")) == 2
    assert lines_with(html, "39 outputs") == wording
    assert len(page.all("pre", "letters")) == 39


def test_ten_thousand_results_are_a_page_of_less_than_five_megabytes():
    page = page_of(many(5000, ("acme", "bolt"), failing=0.02))
    assert len(page.encode()) < 5_000_000
    # What is not looked at is no element: a browser is quick with so many.
    assert len(re.findall(r"<\w", page)) < 60_000
    assert len(data_of(page)) == 10_000


def test_of_too_many_failures_each_cause_shows_some_and_the_rest_is_counted(monkeypatch):
    monkeypatch.setattr(run_page, "_MAX_PAGE", 1_000_000)
    monkeypatch.setattr(run_page, "_MIN_ROOM", 100_000)
    page = page_of(many(200, ("acme", "bolt"), failing=1.0))
    full = page.count('<details class="failure"')
    assert 20 < full < 100
    assert f"{400 - full:,} failures" in lines_with(page, '<p class="banner')
    _, *groups = page.split('<details class="group">')
    assert len(groups) == 40
    causes = [group for group in groups if '<details class="failure"' in group]
    assert len(causes) == min(full, 40)
    left = [int(count) for count in re.findall("… and ([0-9]+) more, in the list", page)]
    assert sum(left) == 400 - full


#: Whatever a page has; of attributes that do something there are no others.
TAGS = {
    *("html", "head", "meta", "title", "style", "script", "body", "header", "main", "footer"),
    *("nav", "section", "form", "label", "input", "select", "option", "button", "output"),
    *("h1", "h2", "h3", "h4", "p", "ul", "li", "dl", "dt", "dd", "div", "span", "pre", "noscript"),
    *("a", "b", "i", "code", "kbd", "time", "wbr", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "svg", "defs", "symbol", "use"),
    *("path", "text", "image"),
}


def assert_harmless(page, text):
    seen = Seen(page)
    assert {tag for tag, _ in seen.elements} <= TAGS
    assert len(seen.all("script")) == 2
    assert len(seen.all("style")) == 1
    for _, attrs in seen.elements:
        assert not [name for name in attrs if name.startswith("on") or name in ("src", "srcdoc")]
        goal = attrs.get("href") or "#"
        assert goal.startswith(("#", "data:image/png;base64,", "https://", "http://")), goal
    for character in text:
        if plain_text.clean(character) != character:
            assert character not in page.replace("\r\n", "\n")
    assert len(data_of(page)) == len(Verdict)


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_backend_says_is_shown_and_no_more(text):
    page = page_of(hostile(text))
    assert_harmless(page, text)
    # The reason of the failure, as it is shown in full.
    assert plain_text.block(text).strip() in Seen(page).text


@examples(40)
@given(TEXTS)
def test_any_text_is_shown_and_no_more(text):
    assert_harmless(page_of(hostile(text)), text)


def test_a_message_of_ten_megabytes_is_cut_and_the_page_says_so():
    run = run_of(record(Verdict.ERROR, reason="<b>&" * 2_500_000, printed="y\n" * 5_000_000))
    page = page_of(run)
    assert len(page) < 200_000
    assert "(9,999,000 more characters)" in page


def test_a_page_runs_its_own_script_and_fetches_nothing(everything):
    (policy,) = [one for one in Seen(everything).all("meta") if "http-equiv" in one]
    rules = dict(rule.strip().split(" ", 1) for rule in policy["content"].split(";"))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/]{43}='", rules["script-src"])
    assert rules["img-src"] == "data:"
    assert not re.search(r"url\(|@import", everything)
