"""Stored runs made by hand, and texts that mean mischief."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opcheck import model
from opcheck.model import ComparisonRecord, Diagnosis, Ending, Known, Mismatch, Record, Run, Verdict
from tests.report.made import header, record, wrong_values

#: What somebody may have a backend say, who wants to break a page, a terminal or a build.
HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07",
    "a | b || c",
    "`code` ``x`` ```\nfence\n```",
    "<script>alert(1)</script><img src=x onerror=y></details></summary>",
    "&lt;b&gt; &amp; &#x3c;",
    "@everyone @org/team",
    "#1 org/repo#2 GH-3",
    "https://example.org/x www.example.org mail@example.org <https://example.org>",
    "[a](javascript:alert) ![b](http://x) [c]: http://y",
    "**bold** __b__ *i* _i_ ~~s~~ $x$ $$y$$ :tada:",
    "# title\n\n- item\n1. one\n> quote\n---\n    code",
    "::error file=x,line=1::owned\n::stop-commands::x",
    "%0A::warning::x %25 a,b:c",
    "]]> <![CDATA[ x ]]> \ufffe\uffff\x00\x08",
    "\ud800 lone \udfff",
    "\u202e reversed \u2066",
    "line\r\nline\rline\x85line\u2028line",
    "\\ backslash \\| pipe \\` tick",
]

_WORST = (
    Mismatch((0, 1), 0.0, 1.0, 1065353216, "exact", 3.0),
    Mismatch((1, 0), 1.0, float("nan"), None, "±0.25", 3.0),
)
WRONG = wrong_values("float32", *_WORST, wrong=9, total=12, where="exactly where axis 0 is 1")
KNOWN = Known("The maximum of a vector's lanes forgets → its NaN.", "https://x.org/1", "a.yaml")
#: What a user's ledger says of a case.
LISTED = replace(
    KNOWN, ledger="my/ledger.yaml", line=12, text="- {op: A}", expected="fail (values)"
)


def run_of(*records: Record, backends: Sequence[str] = (), cases=None, **fields: Any) -> Run:
    """A complete run of these records, unless there are more `cases` than they are about.

    Each gets a place and an id of its own, the same for backends that follow each other.
    """
    addresses = backends or tuple(dict.fromkeys(one.backend for one in records))
    placed: list[Record] = []
    count = dict.fromkeys(addresses, 0)
    for one in records:
        place = count[one.backend]
        count[one.backend] += 1
        placed.append(replace(one, place=place, case=f"{one.case}~{place}"))
    total = max(count.values(), default=0) if cases is None else cases
    ending = fields.pop("ending", Ending(len(placed) == total * len(addresses), 0, "", 1.5))
    about = replace(header(*addresses), cases=total, suite=model.Suite("5eed", total), **fields)
    return Run(about, tuple(placed), ending)


def every_verdict(backend: str = "acme") -> list[Record]:
    """A record of each verdict, the worst of them with all there is to tell."""
    looks = (Diagnosis("last_of_ties", "the last of equal maxima won"),)
    return [
        record(Verdict.PASS, backend, seconds=0.25),
        record(Verdict.PASS, backend, self_check=True),
        record(Verdict.KNOWN, backend, known=KNOWN, reason="output: wrong", found=Verdict.FAIL),
        record(Verdict.WARN, backend, reason="accepts an invalid model", rule="should"),
        record(
            Verdict.FAIL,
            backend,
            reason="output: 9 of 12 elements wrong",
            failure="values",
            comparisons=(WRONG,),
            diagnoses=looks,
        ),
        record(
            Verdict.DIFFER,
            backend,
            reason="differs from other: output: 9 of 12 elements differ",
            failure="values",
            comparisons=(WRONG,),
            against=("other",),
        ),
        record(Verdict.ERROR, backend, reason="raised on a legal model: Oh: no", failure="raised"),
        record(Verdict.CRASH, backend, reason="killed by SIGSEGV", printed="last\nwords\n"),
        record(Verdict.TIMEOUT, backend, reason="no answer within 30 s"),
        record(Verdict.OOM, backend, reason="took more than 100 MiB of memory"),
        record(Verdict.UNSTABLE, backend, reason="runs contradict each other"),
        record(Verdict.UNEXPECTED_PASS, backend, known=LISTED, found=Verdict.PASS, unexpected=True),
        record(Verdict.UNSUPPORTED, backend, reason="no kernel for float64"),
        record(Verdict.NOT_RUN, backend, reason="no such folder: out/1"),
        record(Verdict.BAD_CASE, backend, reason="the case contradicts itself"),
    ]


def hostile(text: str) -> Run:
    """A run in which everything that comes from outside is this text."""
    element = model.ElementRecord((0,), text, text, text, text, text, None, text)
    comparison = ComparisonRecord(
        text, "values", text, text, where=text, wrong=1, total=2, worst=(element,)
    )
    fields = {
        "reason": text,
        "printed": text,
        "clause": text,
        "alternative": text,
        "oracle": text,
        "against": (text,),
        "known": Known(text, text, text, 3, text, text),
        "diagnoses": (Diagnosis(text, text), Diagnosis(None, text)),
    }
    records = [
        replace(
            record(verdict, text, **fields, unexpected=verdict is Verdict.UNEXPECTED_PASS),
            case=text,
            question=text,
            repeat=text,
            rulings=(text,),
            comparisons=(comparison,),
        )
        for verdict in Verdict
    ]
    run = run_of(*records)
    (info,) = run.header.backends
    about = replace(run.header.environment, platform=text, packages={text: text})
    info = replace(info, version=text)
    head = replace(run.header, backends=(info,), environment=about, selection=text)
    return replace(run, header=head)
