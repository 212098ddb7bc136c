"""How opcheck reads the sentences that a case quotes, where they do not decide by themselves."""

from __future__ import annotations

from functools import cache

from opcheck.clauses.pages import Sentence, shipped_pages
from opcheck.clauses.quoting import cited, quotation
from opcheck.model import OpVersion


@cache
def rulings(clause: str, op: OpVersion) -> tuple[str, ...]:
    """The rulings on the sentences of the page of `op` that `clause` quotes, in their order."""
    quoted = cited(quotation(clause, op), _page(op))
    return tuple(sentence.ruling for sentence in quoted if sentence.ruling)


@cache
def _page(op: OpVersion) -> tuple[Sentence, ...]:
    pages = (page for page in shipped_pages() if (page.domain, page.op) == (op.domain, op.name))
    return tuple(sentence for page in pages for sentence in page.page(op.since))
