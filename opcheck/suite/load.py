"""Load cases from files, folders, test data, models and node tests; the cells of shipped ones."""

import json
import os
import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

from opcheck import interrupt, opset, reading
from opcheck.dtypes import BY_TEXT, DTYPES
from opcheck.engine import operator_of
from opcheck.errors import UsageError, did_you_mean, nearest
from opcheck.model import Case, Level, OpVersion, Source
from opcheck.reading import FileNode, Mark, Problems, operators_in, quoted, read_file, validation
from opcheck.suite import cache
from opcheck.suite.discovery import SUFFIXES, case_files_in, is_case_file, real, yaml_files_in
from opcheck.suite.expand import CaseFile, Expansion
from opcheck.suite.fields import CaseEntry, HeadFields, validate
from opcheck.suite.resolve import resolve
from opcheck.suite.select import EVERYTHING, LEVELS, Selection

_WHOLE_FILE = Mark(0, 0)
#: Where cases stand in a file, those to be judged and those to be timed.
_LISTS = ("cases", "bench")
#: Files of more bytes take seconds to read, and so many processes read them at the most.
_LONG, _READERS = 1 << 17, 8
#: The shipped cases of some operators, cached: ledgers and golden files need all of them again.
_shipped = lru_cache(None)(lambda ops, levels: _load((), ops, levels=levels))


def shipped_suites() -> Path:
    """The folder of the shipped case files."""
    return reading.shipped_folder("cases")


def load(
    paths: Sequence[Path] = (), ops: Collection[str] = (), levels: Collection[Level] = LEVELS
) -> tuple[Case, ...]:
    """Load cases from `paths`, else the shipped ones of `ops` at `levels`; raises CaseFileError."""
    return _load(paths) if paths else _shipped(frozenset(ops), frozenset(levels))


def load_bench(paths: Sequence[Path] = (), ops: Collection[str] = ()) -> tuple[Case, ...]:
    """The cases to time: the list `bench` of a file or, unless it is shipped, else its cases."""
    return _load(paths, ops, bench=True)


def _load(
    paths: Sequence[Path],
    ops: Collection[str] = (),
    *,
    levels: frozenset[Level] = frozenset(LEVELS),
    bench: bool = False,
) -> tuple[Case, ...]:
    problems = Problems()
    cases: list[Case] = []
    fresh: dict[Path, tuple[CaseFile, bytes]] = {}
    asked = {op.lower() for op in ops}
    is_kept = not (paths or bench)
    with reading.uncollected():
        named = _files(paths or _about(ops), problems)
        # Problems of a file are its own, also where another process reads it.
        files = [replace(file, levels=levels, problems=Problems()) for file in named]
        kept = [cache.find(file, levels) if is_kept else None for file in files]
        rest = [file for file, known in zip(files, kept, strict=True) if known is None]
        # Before they are read: who changes meanwhile is not kept.
        places = [cache.place(file, levels) if is_kept else None for file in rest]
        of_file = partial(_of_file, ops=ops, is_given=bool(paths), bench=bench)
        with closing(_read(rest, of_file)) as found:
            read = zip(places, found, strict=False)
            for file, known in zip(files, kept, strict=True):
                interrupt.safe_place()
                if known is not None:
                    cases += [one for one in known if not ops or one.op.name.lower() in asked]
                    continue
                place, (mine, packed) = next(read)
                cases += mine
                problems += file.problems
                if place and not problems:
                    about = {op.lower() for op in operators_in(file.path)}
                    # Of a file about others too, not all was read.
                    if not ops or about <= asked:
                        fresh[place] = file, packed or cache.packed(mine)
    cache.keep(fresh, levels)
    check_unique(((case.id, case.source) for case in cases), problems)
    problems.raise_if_any()
    return tuple(cases)


def _of_file(file: CaseFile, ops: Collection[str], *, is_given: bool, bench: bool) -> list[Case]:
    """The cases of one file; `file.problems` has what is wrong with it."""
    root = read_file(file.path, file.problems)
    # A shipped file without a list to be timed has nothing for a bench.
    if root is None or (bench and not is_given and not root.get("bench")):
        return []
    return _cases(file, root, ops)["bench" if bench and root.get("bench") else "cases"]


def _packed(file: CaseFile, of_file: Callable[[CaseFile], list[Case]]) -> tuple[bytes, Problems]:
    return cache.packed(of_file(file)), file.problems


def _read(
    files: Sequence[CaseFile], of_file: Callable[[CaseFile], list[Case]]
) -> Generator[tuple[Sequence[Case], bytes]]:
    """Yield the cases of files, in their order; and packed, where other processes read them.

    Those do where it takes seconds. Problems of a file go to its own.
    """
    cores = interrupt.processors() if interrupt.CAN_FORK else 1
    done, count = 0, min(len(files), cores, _READERS)
    size = 0
    with suppress(OSError, ValueError):
        size = sum(one.path.stat().st_size for one in files)
    if count > 1 and size > _LONG:
        from concurrent import futures
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import current_process

        # There may be no more processes, or one be killed: this one reads the rest.
        lost = OSError, NotImplementedError, BrokenProcessPool, UnpicklingError
        begin = interrupt.follow, (os.getpid(),)
        # A judge and its like may start none.
        if not current_process().daemon:
            with suppress(*lost), interrupt.processes(count, "fork", *begin) as pool:
                # `map` would cancel answers that the pool, once broken, wants to fill.
                for answer in interrupt.submitted(pool, partial(_packed, of_file=of_file), files):
                    while not futures.wait([answer], timeout=0.1).done:
                        interrupt.safe_place()
                    packed, problems = answer.result()
                    cases = cache.unpacked(packed)
                    files[done].problems.extend(problems)
                    done += 1
                    yield cases, packed
    yield from ((of_file(file), b"") for file in files[done:])


def _about(ops: Collection[str]) -> Sequence[Path]:
    """The shipped files of these operators; all without `ops`. An operator may have none."""
    names = {op.lower() for op in ops}
    files = filter(is_case_file, yaml_files_in(shipped_suites(), Problems()))
    return [file for file in files if not ops or names & {op.lower() for op in operators_in(file)}]


def _files(paths: Sequence[Path], problems: Problems) -> Iterator[CaseFile]:
    """Each case file once; its operator is not known yet."""
    shipped = shipped_suites()
    seen: set[Path] = set()
    for path in paths:
        found = [path]
        if os.path.isdir(path):  # noqa: PTH112  # Path's raises; reading reports it better
            known = len(problems)
            if not (found := case_files_in(path, problems)) and len(problems) == known:
                message = "neither case files nor test data in this folder"
                hint = f"case files end in {SUFFIXES[0]}, a test is a folder with a model.onnx"
                problems.add(str(path), _WHOLE_FILE, message, hint)
        if path.suffix == ".py":
            hint = f"a backend in it is -b py:{path.stem}"
            problems.add(str(path), _WHOLE_FILE, "this is a Python file, not a case file", hint)
            found = []
        elif found == [path] and not is_case_file(path):
            message = f"a file {_ending(path)} is not a case file"
            problems.add(str(path), _WHOLE_FILE, message, "rename it if it holds cases")
            found = []
        for file in found:
            if (path_of_file := real(file)) not in seen:
                seen.add(path_of_file)
                # Shipped files go by their place in the repository, others as the user named them.
                is_shipped = file.is_relative_to(shipped)
                name = Path("cases") / file.relative_to(shipped) if is_shipped else file
                yield CaseFile(
                    str(name), file, path_of_file.is_relative_to(real(shipped)), problems
                )


def _ending(file: Path) -> str:
    return f"*{reading.kind_of(file)}"


def _cases(file: CaseFile, root: FileNode, ops: Collection[str]) -> Mapping[str, list[Case]]:
    """The cases of both lists, so that problems of both are reported; those of `ops`, if any."""
    head, rest, lost = validate(HeadFields, root, file.name, file.problems)
    names = root.get("op")
    named = validation.operators_of(names) if head and names else {}
    files = [replace(file, domain=head.domain, op=op) for op in named] if head else []
    # One that may be meant shows other mistakes, and has no cases.
    known = [_meant(one, root, named) for one in files]
    wanted = {op.lower() for op in ops} & {op.lower() for op in named}
    chosen = [one for one in known if not wanted or one.op.lower() in wanted]
    expansions = [Expansion(one, rest, lost) for one in chosen]
    given = root.entries
    # A misspelt key is reported as such.
    if head and not ({*given} & {*_LISTS} or did_you_mean("cases", given)):
        file.problems.add(file.name, root.mark, "'cases' is missing")
    cases: dict[str, list[Case]] = {}
    for part in _LISTS:
        entries = root.get(part)
        cases[part] = []
        sure: list[tuple[str, Mark]] = []
        for entry in entries.items if entries else ():
            fields, sound, lacks = validate(CaseEntry, entry, file.name, file.problems)
            _check_operators(file, sound, named)
            if not isinstance(sound.value, dict):
                continue
            # One without a sound name has no case, but may have more mistakes.
            name = fields.name if fields else "unnamed"
            reported: set[tuple[Mark, str]] = set()
            for expansion in expansions:
                concretes = [*expansion.expand(name, sound, lacks)]
                is_sure = fields and not ({"matrix", "rows"} & {*entry.entries})
                sure += [(it.id, it.node.mark) for it in concretes if is_sure or not it.lost]
                opsets = (concrete.node.get("opset") for concrete in concretes)
                numbers = [node.value for node in opsets if node and isinstance(node.value, int)]
                of_entry = replace(expansion.file, opsets=frozenset(numbers), reported=reported)
                found = [*filter(None, (resolve(of_entry, one) for one in concretes))]
                cases[part] += found if expansion.file in files else ()
        # Also of those that are wrong in themselves, if their ids are sure.
        # One that is of several operators may be meant to be twice of one.
        ids = ((id, Source(file.name, at.line, at.column)) for id, at in dict.fromkeys(sure))
        check_unique(ids, file.problems)
    about = {case.op.name for part in cases.values() for case in part}
    if not (file.problems or wanted):
        for op in (op for op in named if op not in about):
            file.problems.add(file.name, named[op], f"no case of this file is of {quoted(op)}")
    order = {op: number for number, op in enumerate(named)}
    return {part: sorted(mine, key=lambda one: order[one.op.name]) for part, mine in cases.items()}


def _check_operators(file: CaseFile, entry: FileNode, named: Collection[str]) -> None:
    """Report operators of a case or its rows that the file does not name."""
    rows = entry.get("rows")
    for one in (entry, *(rows.items if rows else ())):
        node = one.get("op")
        for op, mark in validation.operators_of(node).items() if node and named else ():
            if op not in named:
                message = f"{quoted(op)} is no operator of this file"
                hint = did_you_mean(op, named) or f"its op: names {', '.join(named)}"
                file.problems.add(file.name, mark, message, hint)


def _meant(file: CaseFile, root: FileNode, named: Mapping[str, Mark]) -> CaseFile:
    """Return the file, of what it may mean where its domain or operator is reported as unknown."""
    domain, op, domains = file.domain, file.op, opset.domains()
    elsewhere = [other for other in domains if opset.versions(other, op)]
    if domain not in domains:
        known = [known or '""' for known in domains]
        message = f"unknown domain {quoted(domain)} (known: {', '.join(known)})"
        hint = did_you_mean(domain, known)
        if op == next(iter(named)):
            file.problems.add(file.name, root.at(["domain"]), message, hint)
        domain = [*elsewhere, *nearest(domain, domains), domain][0]
    if domain in domains and domain not in elsewhere:
        operators = opset.operators(domain)
        hint = did_you_mean(op, operators)
        hint = f"it is one of domain {elsewhere[0]!r}" if elsewhere else hint
        file.problems.add(file.name, named[op], f"unknown operator {quoted(op)}", hint)
        domain = [*elsewhere, domain][0]
        # A longer name may well be of another operator, and one that may mean two is none.
        near = [one for one in nearest(op, operators) if not op.startswith(one)]
        op = near[0] if len(near) == 1 and not elsewhere else op
    return replace(file, domain=domain, op=op)


def check_unique(ids: Iterable[tuple[str, Source]], problems: Problems) -> None:
    """Note every two cases of one id, in any case of letters: ids become names of folders."""
    first: dict[str, Source] = {}
    for id, source in ids:
        if other := first.get(id.lower()):
            message = f"two cases have the id {id} (the other is at {other})"
            problems.add(source.file, Mark(source.line, source.column), message)
        else:
            first[id.lower()] = source


def load_all(
    paths: Sequence[Path] = (),
    dims: Mapping[str, int] | None = None,
    selection: Selection = EVERYTHING,
    inputs: Path | None = None,
) -> tuple[Case, ...]:
    """As `load`, from paths of any kind; `dims` are open sizes of models; raises UsageError.

    `inputs` is a folder of files that a model is fed, see `suite.models.fed_from`. Of shipped
    suites, cases that `selection` does not choose may be left out.
    """
    from opcheck.suite import models as whole

    problems, messages = Problems(), list[tuple[Path, str]]()
    wholes = [path for path in dict.fromkeys(paths) if whole.is_of_models(path)]
    tests = [path for path in wholes if path.suffix != whole.SUFFIX or whole.is_node_tests(path)]
    models = [path for path in wholes if path not in tests]
    # Before suites are read, which takes long.
    if inputs and len(models) != 1:
        raise UsageError(f"{inputs}: these inputs are for one model, and {len(models)} are named")
    fed, more = whole.fed_from(models[0], inputs) if inputs else ({}, {})
    sizes = whole.DimSizes(dims or {}, more)
    found = [*filter(None, (whole.case_of_model(path, sizes, messages, fed) for path in models))]
    if sizes.models == len(models):  # One that cannot be read may have sizes of any name.
        sizes.check()
    files = [path for path in paths if path not in wholes]
    # A mistyped opset is told from one that has no case of the level.
    levels = LEVELS if selection.opsets else selection.levels
    cases = [*load(files, selection.operators, levels)] if files or not paths else []
    cases += chain.from_iterable(whole.tests_at(path, messages) for path in tests)
    cases += [replace(case, said=(f"--inputs={inputs}",)) for case in found] if inputs else found
    for path, message in messages:
        problems.add(str(path), _WHOLE_FILE, message)
    check_unique(((case.id, case.source) for case in cases), problems)
    problems.raise_if_any()
    return tuple(cases)


def check_case_files(paths: Sequence[Path], command: str) -> None:
    """Raise UsageError for a path of models, which `command` does not take."""
    from opcheck.suite.models import is_of_models

    if path := next(filter(is_of_models, paths), None):
        raise UsageError(f"{path}: opcheck {command} takes case files only, no models")


#: What `python docs/operators.py` writes next to the shipped cases, which take long to load.
JUDGED = "judged.json"


class Coverage(NamedTuple):
    """The cells of a version of an operator: each is the version with an element type.

    Its types as ONNX writes them, those the engine computes and those that cases ask for an answer
    in, and why others are not judged; "" if nothing is stated. The type is one of the first type
    variable, that of the first input or, without inputs, of the first output.
    """

    op: OpVersion
    types: frozenset[str]
    computed: frozenset[str]
    judged: frozenset[str]
    why: str


def shipped_coverage(ops: Collection[str] = ()) -> Iterator[Coverage]:
    """All operators, or those of these names, by the shipped cases; raises UsageError."""
    every = [(domain, name) for domain in opset.domains() for name in opset.operators(domain)]
    known = {name.lower(): (domain, opset.plain(name)) for domain, name in every}
    for op in (op for op in ops if op.lower() not in known):
        raise UsageError(f"no operator {op!r}", did_you_mean(op, (name for _, name in every)))
    table = json.loads((shipped_suites() / JUDGED).read_text(encoding="utf-8"))
    for domain, name in sorted({known[op.lower()] for op in ops} or {*known.values()}):
        yield from coverage(domain, name, table.get(domain, {}).get(name, {}))


def coverage(domain: str, name: str, stated: Mapping[str, Any]) -> Iterator[Coverage]:
    """Each version but deprecated ones; `stated` has the judged types, and `why` no others are."""
    others = [opset.versions(domain, one) for one in opset.on_forms(name)]
    for since, schema in opset.versions(domain, name).items():
        if schema.deprecated:
            continue
        types = next(chain(*schema.formals)).types
        computed = {
            listed_type(one, text)
            for found in (schema, *(found[since] for found in others if since in found))
            for one in (chief_slots(found) if operator_of(found.op) else ())
            for text in one.types & BY_TEXT.keys()
        }
        # As ONNX writes them; the file has our names.
        words = (re.split(r"(\w+)(?=\)*$)", one) for one in stated.get(str(since), "").split())
        judged = (f"{begin}{DTYPES[dtype].text}{end}" for begin, dtype, end in words)
        found = types & computed, types & {*judged}
        yield Coverage(schema.op, types, *found, stated.get("why", ""))


def chief_slots(schema: opset.Schema) -> list[opset.Parameter]:
    """The inputs or outputs that a version's cells have their types of."""
    # A sequence is the first where it is declared so, though cases have its tensors last. Next to
    # an optional there may be a tensor in its place.
    formal, known = next(chain(*schema.formals)).name, (*schema.inputs, *schema.outputs)
    chief = next(one for one in known if one.name == formal)
    return [
        one
        for one in known
        if one.constraint == chief.constraint
        and (one.listed == chief.listed or one.name == f"{formal}_tensor")
    ]


def listed_type(parameter: opset.Parameter, name: str) -> str:
    """A type of tensors as that of the sequence or optional in whose place they are."""
    return f"{parameter.listed}{name}{')' * parameter.listed.count('(')}"
