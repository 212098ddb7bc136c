"""Why mutants are harmless: the files of `equivalent/`, read where mutants are counted."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from pydantic import Field

from opcheck import opset
from opcheck.engine import dtypes_of, operator_of
from opcheck.engine.mutants import Mutant, guards_of, mutants_of
from opcheck.errors import did_you_mean
from opcheck.model import OpVersion
from opcheck.reading import FileNode, Problems, quoted, read_file, shipped_folder, validation


class Argument(validation.Fields):
    """Why no legal input distinguishes `mutants` from the formula.

    Without `op` it holds for each operator of the file, without `versions` and `dtypes` for all.
    """

    mutants: Sequence[str] = Field(min_length=1)
    why: str = Field(min_length=1)
    op: validation.Operators | None = None
    versions: Sequence[int] = ()
    dtypes: Sequence[str] = ()


class ArgumentsFields(validation.Fields):
    """A file of `equivalent/`."""

    op: validation.Operators
    domain: str = ""
    equivalent: list[Argument] = Field(min_length=1)


def why_harmless(mutant: Mutant, op: OpVersion, dtype: str | None) -> str | None:
    """Return the argument that no input distinguishes it from the formula; None without one."""
    names = {mutant.name, *mutant.within}
    for one in arguments(op):
        if not names.isdisjoint(one.mutants) and (not one.dtypes or dtype in one.dtypes):
            return one.why
    return None


@cache
def arguments(op: OpVersion) -> tuple[Argument, ...]:
    """The arguments about a version; raises CaseFileError if one is about nothing there is."""
    operator, problems, found = operator_of(op), Problems(), list[Argument]()
    versions = operator.formulas.keys() if operator else {op.since}
    for file, node, fields in _files():
        for number, one in enumerate(fields.equivalent if fields.domain == op.domain else ()):
            if op.name not in (one.op or fields.op):
                continue
            found += [one] if op.since in (one.versions or versions) else []
            ops = [replace(op, since=since) for since in {*one.versions} & versions or versions]
            every = (mutant.name for op in ops for mutant in (*mutants_of(op), *guards_of(op)))
            types = (dtype for op in ops for dtype in dtypes_of(op))
            for key, known in ("versions", versions), ("dtypes", {*types}), ("mutants", {*every}):
                for at, word in enumerate(getattr(one, key)):
                    if word not in known:
                        mark = node.at(("equivalent", number, key, at))
                        wrong = f"{key}: {op.name} has no {quoted(str(word))} there"
                        hint = did_you_mean(str(word), sorted(map(str, known)))
                        problems.add(file, mark, wrong, hint)
    problems.raise_if_any()
    return tuple(found)


@cache
def _files() -> tuple[tuple[str, FileNode, ArgumentsFields], ...]:
    problems, found = Problems(), list[tuple[str, FileNode, ArgumentsFields]]()
    folder = shipped_folder("_equivalent", "equivalent")
    keys = {"equivalent": validation.aliases(Argument)}
    for path in sorted(folder.rglob("*.yaml")):
        file = f"equivalent/{path.relative_to(folder).as_posix()}"
        node = read_file(path, problems)
        fields = node and validation.check(ArgumentsFields, node, file, problems, keys)[0]
        if node and fields:
            found.append((file, node, fields))
            for one in (node, *node.entries["equivalent"].items):
                validation.check_operators(one, opset.operators(fields.domain), file, problems)
    problems.raise_if_any()
    return tuple(found)
