"""From paths to concrete cases; every problem of every file is reported at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from opcheck import opset
from opcheck.errors import did_you_mean
from opcheck.model import Case
from opcheck.reading import Mark, Node, Problems, read_file, shipped_folder
from opcheck.suite.expand import Expansion
from opcheck.suite.fields import CaseEntry, HeadFields
from opcheck.suite.overlay import get
from opcheck.suite.resolve import CaseFile, resolve
from opcheck.suite.validate import validate

_SUFFIXES = (".yaml", ".yml")
_WHOLE_FILE = Mark(0, 0)


def shipped_suites() -> Path:
    """The folder of the shipped case files."""
    return shipped_folder("_cases", "cases")


def load(paths: Sequence[Path] = ()) -> tuple[Case, ...]:
    """The concrete cases of the files and folders in `paths`; of the shipped suites without any.

    Raises CaseFileError with every problem of every file.
    """
    problems = Problems()
    cases: list[Case] = []
    for name, path, shipped in _files(paths, problems):
        root = read_file(path, problems)
        if root is not None:
            cases += _cases(name, path, shipped, root, problems)
    _check_unique(cases, problems)
    problems.raise_if_any()
    return tuple(cases)


def _files(paths: Sequence[Path], problems: Problems) -> Iterator[tuple[str, Path, bool]]:
    """Each file once: how messages call it, where it is, whether it is shipped."""
    shipped = shipped_suites()
    seen: set[Path] = set()
    for path in paths or [shipped]:
        found = [path]
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES and p.is_file())
            if not found:
                message = "no case files in this folder"
                problems.add(str(path), _WHOLE_FILE, message, f"they end in {_SUFFIXES[0]}")
        for file in found:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield _name(file, shipped), file, file.resolve().is_relative_to(shipped.resolve())


def _name(file: Path, shipped: Path) -> str:
    """A shipped file by its place in the repository, any other as the user named it."""
    if file.is_relative_to(shipped):
        return str(Path("cases") / file.relative_to(shipped))
    return str(file)


def _cases(name: str, path: Path, shipped: bool, root: Node, problems: Problems) -> Iterator[Case]:
    head = validate(HeadFields, root, name, problems)
    op, domain = (_text(root, key) for key in ("op", "domain"))
    if not op or not _is_operator(name, root, domain, op, problems):
        return
    file = CaseFile(name, path, shipped, domain, op, problems)
    # With the head at fault every case would repeat its problem.
    entries = get(root, ("cases",)) if head else None
    expansion = Expansion(name, root, problems) if head else None
    for entry in entries.value if entries and isinstance(entries.value, tuple) else ():
        if validate(CaseEntry, entry, name, problems) and expansion:
            for concrete in expansion.expand(entry):
                case = resolve(file, concrete)
                if case is not None:
                    yield case


def _is_operator(name: str, root: Node, domain: str, op: str, problems: Problems) -> bool:
    if domain not in opset.domains():
        known = [known or '""' for known in opset.domains()]
        message = f"unknown domain {domain!r} (known: {', '.join(known)})"
        problems.add(name, root.at(["domain"]), message, did_you_mean(domain, known))
        return False
    if not opset.versions(domain, op):
        known = list(opset.operators(domain))
        elsewhere = [other for other in opset.domains() if opset.versions(other, op)]
        hint = f"it is one of domain {elsewhere[0]!r}" if elsewhere else did_you_mean(op, known)
        problems.add(name, root.at(["op"]), f"unknown operator {op!r}", hint)
        return False
    return True


def _text(node: Node, key: str) -> str:
    found = get(node, (key,))
    return found.value if found is not None and isinstance(found.value, str) else ""


def _check_unique(cases: Sequence[Case], problems: Problems) -> None:
    """Ids become names of folders, which some file systems do not tell apart by case."""
    first: dict[str, Case] = {}
    for case in cases:
        other = first.setdefault(case.id.lower(), case)
        if other is not case:
            mark = Mark(case.source.line, case.source.column)
            message = f"two cases have the id {case.id} (the other is at {other.source})"
            problems.add(case.source.file, mark, message)
