"""A run as JUnit's XML, which CI systems read: a test suite a backend, a test a case.

It keeps to the schemas of Jenkins, https://github.com/jenkinsci/xunit-plugin (junit-10.xsd), and
of Ant's reports. A run that fails for no case has another suite, so that no reader shows it green.
"""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from xml.etree import ElementTree as xml

from opcheck.analysis.status import is_red, outcome, reds_of
from opcheck.errors import Exit
from opcheck.model import WRONG, Record, Run, Verdict
from opcheck.report import plain_text, summary

#: Verdicts that are errors of a test, not failures.
_ERRORS = {*WRONG, Verdict.NOT_RUN, Verdict.BAD_CASE} - {Verdict.FAIL, Verdict.DIFFER}
_KINDS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def lines(run: Run) -> Iterator[str]:
    """The file, line by line."""
    red = reds_of(run.header)
    root = xml.Element("testsuites", name="opcheck")
    for backend in run.header.backends:
        suite = _suite(root, run, str(backend))
        for result in run.records:
            if result.backend == backend.address:
                _test(suite, result, red)
        _count(suite)
    kinds = "failures", "errors"
    is_red_already = any(int(suite.attrib[kind]) for suite in root for kind in kinds)
    code, meaning = outcome(run)
    wrong = [("a process died", said) for said in (run.ending.accidents if run.ending else ())]
    if not run.complete:
        wrong.append(("the run is incomplete", meaning))
    elif code is not Exit.CONFORMS and not wrong and not is_red_already:
        wrong.append(("nothing was judged", meaning))
    if wrong:
        suite = _suite(root, run, "opcheck")
        for what, reason in wrong:
            _say(_new_test(suite, "opcheck", what, 0.0), "error", what, reason)
        _count(suite)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in root)))
    root.set("time", f"{run.ending.seconds if run.ending else 0.0:.3f}")
    xml.indent(root)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield from xml.tostring(root, encoding="unicode").split("\n")


def _suite(root: xml.Element, run: Run, name: str) -> xml.Element:
    # Ant's readers want no time zone, and a host.
    started = datetime.fromisoformat(run.header.started).astimezone(UTC)
    suite = xml.SubElement(
        root,
        "testsuite",
        name=_name(name),
        id=str(len(root)),
        package="opcheck",
        hostname="localhost",
        timestamp=started.strftime("%Y-%m-%dT%H:%M:%S"),
    )
    about = run.header.environment
    properties = xml.SubElement(suite, "properties")
    for key, value in {
        "opcheck": about.opcheck,
        "python": about.python,
        "platform": about.platform,
        "selection": run.header.selection,
        **about.packages,
    }.items():
        xml.SubElement(properties, "property", name=_name(key), value=plain_text.brief(value))
    return suite


def _count(suite: xml.Element) -> None:
    """Set the number of tests of each kind and their time; add elements that Ant's readers want."""
    tests = suite.findall("testcase")
    suite.set("tests", str(len(tests)))
    for kind, name in _KINDS.items():
        suite.set(name, str(sum(test.find(kind) is not None for test in tests)))
    suite.set("time", f"{sum(float(test.attrib['time']) for test in tests):.6f}")
    xml.SubElement(suite, "system-out")
    xml.SubElement(suite, "system-err")


def _test(suite: xml.Element, result: Record, red: Collection[Verdict]) -> None:
    test = _new_test(suite, str(result.op), result.case, result.seconds)
    message = "; ".join(filter(None, (summary.ledger_note(result), result.reason)))
    if result.verdict in _ERRORS or is_red(result, red):
        kind = "error" if result.verdict in _ERRORS else "failure"
        _say(test, kind, result.verdict, message, summary.failure_text(result))
    elif result.verdict in (Verdict.KNOWN, Verdict.UNSUPPORTED):
        known = result.known if result.verdict is Verdict.KNOWN else None
        reason = known.cause if known else result.reason
        _say(test, "skipped", result.verdict, f"{result.verdict}: {reason}")
    elif result.verdict is Verdict.WARN:
        xml.SubElement(test, "system-out").text = summary.failure_text(result)


def _new_test(suite: xml.Element, of: str, name: str, seconds: float) -> xml.Element:
    fields = {"classname": _name(of), "name": _name(name), "time": f"{seconds:.6f}"}
    return xml.SubElement(suite, "testcase", fields)


def _name(text: str) -> str:
    return plain_text.one_line(text) or "?"


def _say(test: xml.Element, kind: str, about: str, message: str, text: str = "") -> None:
    found = xml.SubElement(test, kind, type=about, message=plain_text.brief(message))
    found.text = text or None
