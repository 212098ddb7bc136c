"""A case file to begin with: the first shipped case of an operator, in a file of its own."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opcheck.errors import CaseFileError, UsageError
from opcheck.model import Case, TensorSpec, Values
from opcheck.suite.entries import WrittenCase, written_case
from opcheck.suite.load import load
from opcheck.suite.select import Selection, choose
from opcheck.suite.tensors import case_file, unrounded

_HEAD = """\
# yaml-language-server: $schema=opcheck.schema.json
#
# Cases of {op}: what a backend is asked, and the right answer. Try them:
#
#   opcheck list {name}                      what they expand to
#   opcheck run {name} -b onnxruntime        judge a backend
#
# The first is a case that ships with opcheck; put yours below it. `matrix` makes a case for each
# combination of versions and types. An answer is a literal, or, where `expect` is left out, what
# opcheck computes from the specification. The first line lets an editor complete keys:
# opcheck schema > opcheck.schema.json
"""


def sample_text(op: str, name: str) -> str:
    """Return the text of a case file that has one shipped case of an operator.

    Args:
        op: The operator's name, in any case of letters.
        name: The name of the file, which its comments mention.

    Raises UsageError if no shipped case of it makes a file of its own.
    """
    cases = choose(load((), [op]), Selection(ops=(op,)))
    exact = cases[0].op.name
    for body in chain(_bodies_as_written(cases, exact), _bodies_of_one(cases)):
        text = f"{_HEAD.format(op=exact, name=name)}\n{body}"
        if _is_whole(text, exact):
            return text
    raise UsageError(f"no shipped case of {op} stands for itself", "see docs/case-files.md")


def _bodies_as_written(cases: Sequence[Case], op: str) -> Iterator[str]:
    """Yield the entries of shipped files, each below a head of the one operator."""
    for written in _candidates(cases):
        for head in _heads(written.head, op):
            yield "\n".join((*head, "cases:", *written.entry)) + "\n"


def _bodies_of_one(cases: Sequence[Case]) -> Iterator[str]:
    """Yield single cases, written anew, which stand for the first of their row; small ones first.

    Their answers are left to opcheck.
    """
    for case in sorted(cases, key=_elements):
        is_plain = all(spec.dtype.kind != "complex" for spec in case.inputs)
        if is_plain and _elements(case) and case.rule == "must" and isinstance(case.expect, Values):
            yield case_file([case], _as_values)


def _elements(case: Case) -> int:
    """Return the elements of all inputs; 0 if one of them is empty."""
    sizes = [math.prod(spec.shape) for spec in case.inputs]
    return sum(sizes) if all(sizes) else 0


def _as_values(spec: TensorSpec) -> dict[str, Any]:
    """Return the values of a tensor, as a case file states them."""
    return {"value": unrounded(spec).tolist()}


def _candidates(cases: Sequence[Case]) -> Iterator[WrittenCase]:
    """Yield the texts of cases with a literal answer first, each once."""
    seen = set()
    for case in sorted(cases, key=lambda case: not isinstance(case.expect, Values)):
        written = written_case(case.source)
        if written and written.entry not in seen:
            seen.add(written.entry)
            yield written


def _heads(head: Sequence[str], op: str) -> Iterator[Sequence[str]]:
    """Yield heads of one operator: the file's, with its clauses, of which others are not needed."""
    others = _without_key(_without_key(head, "op"), "domain")
    domain = [line for line in head if line.startswith("domain:")]
    own = [f"op: {op}", *domain, *others]
    yield own
    yield _without_key(own, "clause")


def _without_key(lines: Sequence[str], key: str) -> list[str]:
    """Return the lines without a key of the file's head and what is indented below it."""
    kept = []
    is_of_key = False
    for line in lines:
        if not line.startswith((" ", "]", "}")):
            is_of_key = line.startswith(f"{key}:")
        if not is_of_key:
            kept.append(line)
    return kept


def _is_whole(text: str, op: str) -> bool:
    """Return True if a text is a case file by itself, with cases of this operator alone."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sample.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            cases = load([path])
        except CaseFileError:
            return False
    return {case.op.name for case in cases} == {op}
