"""Pages in a real browser: what can be clicked, typed and seen, and that nothing is fetched."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from opcheck.model import Diagnosis, Run, Verdict
from opcheck.report.html import run_page
from tests.report.html.browser import Browser, started
from tests.report.html.many import many
from tests.report.html.test_run_page import failing
from tests.report.made import CASE, record
from tests.report.runs import HOSTILE, every_verdict, hostile, run_of

pytestmark = [pytest.mark.processes, pytest.mark.starts_early]

FOLDED = "details.failure:not([hidden])"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from started(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def written(folder: Path, name: str, run: Run) -> Path:
    path = folder / f"{name}.html"
    path.write_text("\n".join(run_page.lines(run)), encoding="utf-8", errors="replace")
    return path


@pytest.fixture(scope="module")
def verdicts(folder):
    """The page of a run with every verdict, of two backends, and a failure with pictures."""
    run = run_of(*every_verdict(), *every_verdict("bolt:x?y=1"), failing(), failing(dtype=None))
    return written(folder, "verdicts", run)


@pytest.fixture(scope="module")
def large(folder):
    return written(folder, "large", many(1000, ("acme", "bolt"), failing=0.01))


@pytest.fixture
def shown(browser, verdicts):
    """The browser with that page."""
    browser.emulate()
    browser.open(verdicts)
    return browser


@pytest.fixture
def shown_large(browser, large):
    browser.emulate()
    browser.open(large)
    return browser


def count(browser: Browser, selector: str) -> int:
    return browser.run("return document.querySelectorAll(arguments[0]).length", selector)


def find(browser: Browser, selector: str):
    return browser.driver.find_element(By.CSS_SELECTOR, selector)


def choose(browser: Browser, name: str, value: str) -> None:
    """Choose from a filter, and wait until that is done."""
    Select(find(browser, f"[name={name}]")).select_by_value(value)
    settled(browser)


def search(browser: Browser, text: str) -> None:
    find(browser, "[name=q]").send_keys(text)
    settled(browser)


def settled(browser: Browser) -> None:
    """Wait until the filter has been applied: then it stands in the address."""
    asked = (
        "return String(new URLSearchParams([...new FormData(arguments[0])].filter(one => one[1])))"
    )
    wanted = browser.run(asked, find(browser, "#filter"))
    within(browser, lambda: browser.run("return location.hash") == f"#{wanted}")


def within(browser: Browser, holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    WebDriverWait(browser.driver, 10, poll_frequency=0.03).until(lambda _: holds())


def listed(browser: Browser) -> list[str]:
    """The verdicts in the list of all results, without their signs."""
    return [text.split(maxsplit=1)[1] for text in browser.texts("#list tbody .tag")]


def test_a_page_asks_for_itself_and_nothing_else_and_has_nothing_to_complain_of(browser, verdicts):
    browser.asked_for()
    browser.open(verdicts)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    asked = {one for one in browser.asked_for() if not one.startswith("data:")}
    assert asked - {"about:blank"} == {verdicts.as_uri()}
    assert browser.said() == []


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_backend_says_does_nothing_in_a_browser(browser, folder, text):
    path = written(folder, "hostile", hostile(text))
    browser.asked_for()
    browser.open(path)
    assert browser.said() == []
    asked = {one for one in browser.asked_for() if not one.startswith("data:")}
    assert asked - {"about:blank"} == {path.as_uri()}
    assert count(browser, "script") == 2
    assert count(browser, "main img, main iframe, main script, main form form") == 0
    # The filter still finds what is so called.
    browser.run("document.querySelector('td.all a').click()")
    assert count(browser, "#list tbody tr") == len(Verdict)


def test_a_verdict_that_is_chosen_is_all_that_is_listed(shown, wording):
    choose(shown, "verdict", "fail")
    assert listed(shown) == ["fail"] * 4
    assert count(shown, FOLDED) == 4
    assert shown.texts("#filter output") == [wording]
    find(shown, "#filter [type=reset]").click()
    assert len(listed(shown)) == 32


def test_filters_are_taken_together(shown, wording):
    choose(shown, "verdict", "crash")
    choose(shown, "backend", "bolt:x?y=1")
    assert listed(shown) == ["crash"]
    # Groups and backends without a failure that matches are not shown either.
    assert len(shown.texts(".group h4")) == 1
    assert len(shown.texts("section.backend h3")) == 1
    search(shown, "nothing has this")
    within(shown, lambda: not listed(shown))
    assert shown.texts("#none-left") == [wording]


def test_a_search_finds_what_failures_say_and_all_words_have_to_be_there(shown):
    # A diagnosis, which no row of the list has.
    search(shown, "EQUAL maxima")
    assert set(listed(shown)) == {"fail"}
    assert count(shown, FOLDED) == 2


def test_a_cell_of_the_matrix_shows_its_results(shown_large):
    cell = find(shown_large, ".matrix tbody tr:nth-child(2) td:nth-of-type(3) a")
    wanted = sum(map(int, re.findall(r"\d+", cell.text)))
    cell.click()
    assert count(shown_large, "#list tbody tr") == wanted > 10
    assert len({tuple(text.split()) for text in shown_large.texts("#list td:nth-child(2)")}) == 1


def test_a_known_defect_s_number_shows_its_cases(shown, wording):
    find(shown, ".causes [data-filter]").click()
    assert listed(shown) == ["known"]
    assert shown.texts("#filter output")[0] == wording


def test_an_address_keeps_the_filter(shown, verdicts):
    choose(shown, "verdict", "oom")
    assert shown.run("return location.hash") == "#verdict=oom"
    shown.open(verdicts, "#verdict=oom&backend=acme")
    assert listed(shown) == ["oom"]


def test_more_results_are_listed_when_asked_for(shown_large):
    assert count(shown_large, "#list tbody tr") == 200
    assert shown_large.texts("#more") == ["Show 200 more of 1,800"]
    find(shown_large, "#more").click()
    assert count(shown_large, "#list tbody tr") == 400


def test_a_result_unfolds_with_the_command_that_repeats_it(shown):
    button = find(shown, "#list button.case")
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    (command,) = shown.texts("#list .repeat code")
    assert command.startswith("opcheck run my/ties.yaml --case 'Hardmax/first_of_ties@")
    assert command.endswith(" -b acme --no-known")
    button.click()
    assert count(shown, "#list .detail") == 0


def test_from_a_result_one_comes_to_all_about_its_failure(shown):
    choose(shown, "verdict", "timeout")
    find(shown, "#list button.case").click()
    find(shown, "#list .detail a").click()
    within(shown, lambda: count(shown, ".failure[open]") == 1)
    (open_one,) = shown.texts(".failure[open] > summary")
    assert "timeout" in open_one
    assert shown.run("return document.activeElement.parentNode.open")


def test_a_link_to_a_failure_opens_it_even_if_a_filter_hides_it(shown, verdicts):
    name = shown.run("return document.querySelectorAll('.failure')[2].id")
    shown.open(verdicts, f"#{name}")
    assert shown.run("return document.getElementById(arguments[0]).open", name)
    choose(shown, "verdict", "known")
    assert not shown.texts(f"#{name}")
    shown.run("location.hash = '#x'; location.hash = arguments[0]", f"#{name}")
    within(shown, lambda: shown.texts(f"#{name}"))


def test_links_within_the_page_lead_somewhere(shown):
    missing = shown.run(
        "return [...document.querySelectorAll('a[href^=\"#\"], use')]"
        ".map(one => one.getAttribute('href')).filter(goal => !document.querySelector(goal))"
    )
    assert missing == []


def test_many_failures_are_folded_by_cause_until_one_looks_for_some(browser, folder, wording):
    causes = [Diagnosis("a", "as if a"), Diagnosis("b", "as if b")]
    run = run_of(*(record(Verdict.FAIL, diagnoses=(causes[n % 2],)) for n in range(40)))
    browser.emulate()
    browser.open(written(folder, "folded", run))
    assert browser.texts(".failure > summary") == []
    assert [text.splitlines()[0] for text in browser.texts(".group > summary")] == wording
    search(browser, "axis_0~7 ")
    assert len(browser.texts(".failure > summary")) == 1
    browser.open(folder / "folded.html", "#f9")
    assert len(browser.texts(".failure[open] > summary")) == 1
    assert len(browser.texts(".failure > summary")) == 20


def test_all_failures_open_and_close_at_once(shown):
    find(shown, "#open").click()
    assert count(shown, ".failure[open]") == count(shown, ".failure") > 10
    find(shown, "#close").click()
    assert count(shown, ".failure[open]") == 0


def test_a_keyboard_is_enough(shown):
    find(shown, "body").send_keys(Keys.TAB)
    assert shown.run("return document.activeElement.className") == "skip"
    first, second = shown.driver.find_elements(By.CSS_SELECTOR, ".failure > summary")[:2]
    first.send_keys(Keys.ENTER)
    assert count(shown, ".failure[open]") == 1
    first.send_keys("j")
    assert shown.driver.switch_to.active_element == second
    second.send_keys("k")
    assert shown.driver.switch_to.active_element == first
    # Whatever a mouse reaches, a keyboard does.
    unreachable = shown.run(
        "return [...document.querySelectorAll('a, button, input:not([type=hidden]), select,"
        " summary, .scroll')].filter(one => one.tabIndex < 0).length"
    )
    assert unreachable == 0


def test_a_command_is_copied(shown):
    shown.tell("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    find(shown, ".failure > summary").click()
    find(shown, ".failure .copy").click()
    within(shown, lambda: "Copied" in shown.texts(".failure .copy"))
    copied = shown.driver.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], arguments[0])"
    )
    assert copied == shown.texts(".failure[open] .repeat code")[0]


def background(browser):
    return browser.run("return getComputedStyle(document.body).backgroundColor")


def test_colours_follow_the_system_unless_somebody_chooses(shown, verdicts):
    light = background(shown)
    shown.emulate(scheme="dark")
    dark = background(shown)
    assert light != dark
    button = find(shown, "#theme")
    for label, colour in (("light", light), ("dark", dark), ("auto", dark)):
        button.click()
        assert button.text.endswith(label)
        assert background(shown) == colour
    button.click()
    shown.open(verdicts)
    assert background(shown) == light
    shown.run("localStorage.clear()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_against_what_is_behind_it(shown, scheme):
    shown.emulate(scheme=scheme)
    shown.run(
        "document.querySelectorAll('details').forEach(one => { one.open = true; });"
        "document.querySelectorAll('#list button.case').forEach(one => one.click())"
    )
    seen, faint = shown.faint()
    assert seen > 500
    assert faint == []


@pytest.fixture(scope="module")
def wide(folder):
    """A page of names without an end."""
    return written(folder, "wide", hostile("wide" * 200))


@pytest.mark.parametrize("page", ["verdicts", "large", "wide"])
def test_a_narrow_screen_need_not_be_scrolled_sideways(browser, page, request):
    browser.emulate(width=390)
    browser.open(request.getfixturevalue(page))
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= 390


def test_without_scripts_failures_can_be_read_and_nothing_is_offered_that_needs_them(
    browser, verdicts
):
    browser.emulate()
    browser.tell("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(verdicts)
        find(browser, ".failure > summary").click()
        assert CASE.clause in find(browser, ".failure dl").text
        assert "opcheck run my/ties.yaml" in find(browser, ".failure .repeat").text
        for hidden in ("#filter", "#open", "#theme", ".copy", "#more"):
            assert not find(browser, hidden).is_displayed()
        assert "needs JavaScript" in find(browser, "noscript").text
    finally:
        browser.tell("Emulation.setScriptExecutionDisabled", value=False)


def test_on_paper_there_are_no_controls_and_it_is_light(shown):
    shown.emulate(scheme="dark", media="print")
    assert background(shown) == "rgb(255, 255, 255)"
    for hidden in ("#filter", "#open", "nav", "#theme"):
        assert not shown.texts(hidden)
    assert shown.texts(".failure > summary")


@pytest.mark.seconds(9)
def test_a_failure_by_another_name_is_found_by_its_number(browser, folder):
    # As many as a list has, and more: rows of the page are those of the run.
    run = run_of(*(record() for _ in range(7)), record(Verdict.FAIL, reason="here"))
    browser.open(written(folder, "numbers", run), "#f7")
    # Its text, not what is drawn of it by now: the browser draws what is scrolled to later.
    opened = "return [...document.querySelectorAll('.failure[open]')].map(one => one.textContent)"
    (text,) = browser.run(opened)
    assert "here" in text
