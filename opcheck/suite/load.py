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
from typing import Any, Literal, NamedTuple, TypeAlias

from opcheck import interrupt, opset, reading
from opcheck.dtypes import BY_TEXT, DTYPES
from opcheck.engine import operator_of
from opcheck.errors import UsageError, did_you_mean, nearest
from opcheck.model import Case, Level, OpVersion, Source
from opcheck.reading import (
    FileNode,
    Kind,
    Mark,
    Problems,
    kind_of,
    operators_in,
    quoted,
    read_file,
    validation,
)
from opcheck.suite import cache
from opcheck.suite.discovery import SUFFIXES, case_files_in, is_case_file, real, yaml_files_in
from opcheck.suite.expand import CaseFile, Concrete, Expansion
from opcheck.suite.fields import CaseEntry, HeadFields, validate
from opcheck.suite.resolve import resolve
from opcheck.suite.select import (
    EVERYTHING,
    HUGE,
    LEVELS,
    Selection,
    check_shipped_opsets,
    check_words,
    operator_matcher,
)

_WHOLE_FILE = Mark(0, 0)
#: Reads the cases of one file.
_ReadCases: TypeAlias = Callable[[CaseFile], list[Case]]
_ListName: TypeAlias = Literal["cases", "bench"]
#: The lists of cases in a file: those to be judged and those to be timed.
_LISTS: tuple[_ListName, ...] = ("cases", "bench")
#: Files of more bytes in total take seconds to read, so that several processes share them.
_LONG = 1 << 17
_MAX_READERS = 8
#: Ends of the names of archives, which are not read.
_ARCHIVES = (".gz", ".tar", ".tgz", ".zip")


def shipped_suites() -> Path:
    """Return the folder of the shipped case files."""
    return reading.shipped_folder("cases")


def load(
    paths: Sequence[Path] = (), ops: Collection[str] = (), levels: Collection[Level] = LEVELS
) -> tuple[Case, ...]:
    """Return the cases in `paths`, else the shipped ones of `ops` at `levels`.

    No `ops` means all operators. Shipped cases of level huge are those of `levels` that are huge
    alone. With `paths`, files or folders, `ops` and `levels` do not count. Raises CaseFileError
    with every problem of all files. Shipped cases are cached in this process and in the user's
    cache.
    """
    if paths:
        return _load(paths)
    return _shipped(frozenset(ops), frozenset(levels))


# Ledgers and golden files need all of them again.
@lru_cache(None)
def _shipped(ops: frozenset[str], levels: frozenset[Level]) -> tuple[Case, ...]:
    """Return the shipped cases of these operators at these levels; raises CaseFileError.

    No operators means all. The answer is cached.
    """
    return _load((), ops, levels=levels)


def load_bench(paths: Sequence[Path] = (), ops: Collection[str] = ()) -> tuple[Case, ...]:
    """Return the cases to time: the list `bench` of a file or, of a user's without it, `cases`.

    Without `paths` they are the shipped ones of `ops`, all for none. Raises CaseFileError with
    every problem of all files.
    """
    return _load(paths, ops, bench=True)


def _load(
    paths: Sequence[Path],
    ops: Collection[str] = (),
    *,
    levels: frozenset[Level] = frozenset((*LEVELS, HUGE)),
    bench: bool = False,
) -> tuple[Case, ...]:
    """Return the cases of files, and put those of shipped files into the user's cache.

    Files that are not in the cache are read, by several processes where that takes long. `bench`
    chooses the list to be timed. Raises CaseFileError with every problem, two cases of one id among
    them.
    """
    wanted = _lower(ops)
    is_cached = not (paths or bench)
    problems = Problems()
    cases: list[Case] = []
    to_keep: dict[Path, tuple[CaseFile, bytes]] = {}
    with reading.uncollected():
        named = _files(paths or _shipped_files_of(ops, levels), problems)
        # Problems of a file are its own, also where another process reads it.
        files = [replace(file, levels=levels, problems=Problems()) for file in named]
        cached = _in_cache(files, levels) if is_cached else {}
        unread = [file for file in files if file.path not in cached]
        # Before they are read: a file that changes meanwhile is not kept.
        places = {file.path: cache.place(file, levels) for file in unread} if is_cached else {}
        read_cases = partial(_cases_of_file, ops=ops, is_given=bool(paths), bench=bench)
        with closing(_read(unread, read_cases)) as answers:
            for file in files:
                interrupt.safe_place()
                if file.path in cached:
                    cases += _of_operators(cached[file.path], wanted)
                    continue
                own_cases, packed = next(answers)
                cases += own_cases
                problems += file.problems
                place = places.get(file.path)
                if place and not problems and _is_read_whole(file, wanted):
                    to_keep[place] = file, packed or cache.packed(own_cases)
    cache.keep(to_keep, levels)
    check_unique(((case.id, case.source) for case in cases), problems)
    problems.raise_if_any()
    return tuple(cases)


def _lower(names: Iterable[str]) -> set[str]:
    """Return the names in lower case."""
    return {name.lower() for name in names}


def _in_cache(files: Iterable[CaseFile], levels: Collection[Level]) -> dict[Path, Sequence[Case]]:
    """Return the cases of those files that are in the user's cache, by the file's path."""
    cached = {file.path: cache.find(file, levels) for file in files}
    return {path: cases for path, cases in cached.items() if cases is not None}


def _of_operators(cases: Sequence[Case], wanted: Collection[str]) -> Sequence[Case]:
    """Return the cases of the operators `wanted`, in lower case; none means all."""
    if not wanted:
        return cases
    return [case for case in cases if case.op.name.lower() in wanted]


def _is_read_whole(file: CaseFile, wanted: set[str]) -> bool:
    """Return True if all operators of a shipped file were `wanted`; none means all."""
    return not wanted or _lower(operators_in(file.path)) <= wanted


def _cases_of_file(
    file: CaseFile, ops: Collection[str], *, is_given: bool, bench: bool
) -> list[Case]:
    """Return the cases of one file, of `ops` or all for none; its problems go to `file.problems`.

    `is_given`: the user named the file. A shipped one without the list `bench` has no cases for a
    `bench`. A file that cannot be read has none either.
    """
    root = read_file(file.path, file.problems)
    if root is None:
        return []
    has_bench = bool(root.get("bench"))
    # A shipped file without a list to be timed has nothing for a bench.
    if bench and not has_bench and not is_given:
        return []
    cases = _CasesOfFile(file, root, ops).read()
    return cases["bench" if bench and has_bench else "cases"]


def _packed(file: CaseFile, read_cases: _ReadCases) -> tuple[bytes, Problems]:
    """Return the cases of a file, packed, and its problems, in a process that reads for another."""
    return cache.packed(read_cases(file)), file.problems


def _read(
    files: Sequence[CaseFile], read_cases: _ReadCases
) -> Generator[tuple[Sequence[Case], bytes]]:
    """Yield the cases of files, in their order; and packed, where other processes read them.

    Without those, which read where it takes seconds, b"" is in place of that. Problems of a file go
    to its own.
    """
    done = 0
    cores = interrupt.processors() if interrupt.CAN_FORK else 1
    processes = min(len(files), cores, _MAX_READERS)
    if processes > 1 and _size(files) > _LONG:
        done = yield from _read_in_processes(files, read_cases, processes)
    for file in files[done:]:
        yield read_cases(file), b""


def _size(files: Iterable[CaseFile]) -> int:
    """Return the bytes of files together; 0 if one cannot be read, which is reported later."""
    try:
        return sum(file.path.stat().st_size for file in files)
    except (OSError, ValueError):
        return 0


def _read_in_processes(
    files: Sequence[CaseFile], read_cases: _ReadCases, processes: int
) -> Generator[tuple[Sequence[Case], bytes], None, int]:
    """Yield the cases of files and these packed; return of how many.

    Those are fewer than all where the machine has no more processes, or one is killed; 0 in a
    daemon. Problems of a file are added to its own. Other errors of reading are raised.
    """
    from concurrent import futures
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import current_process

    done = 0
    # Processes that judge, and others of their kind, may start none.
    if current_process().daemon:
        return done
    lost = (OSError, NotImplementedError, BrokenProcessPool, UnpicklingError)
    pool_of = interrupt.processes(processes, "fork", interrupt.follow, (os.getpid(),))
    with suppress(*lost), pool_of as pool:
        # `map` would cancel answers that the pool, once broken, wants to fill.
        for answer in interrupt.submitted(pool, partial(_packed, read_cases=read_cases), files):
            while not futures.wait([answer], timeout=0.1).done:
                interrupt.safe_place()
            packed, problems = answer.result()
            cases = cache.unpacked(packed)
            files[done].problems.extend(problems)
            done += 1
            yield cases, packed
    return done


def _shipped_files_of(ops: Collection[str], levels: Collection[Level]) -> Sequence[Path]:
    """Return the shipped files of these operators; all without `ops`. An operator may have none.

    Files of level huge are apart: only they are returned for it, and no other level reads them.
    """
    wanted = _lower(ops)
    kind = Kind.HUGE if {*levels} == {HUGE} else Kind.CASES
    all_files = yaml_files_in(shipped_suites(), Problems())
    files = (file for file in all_files if kind_of(file) is kind)
    return [file for file in files if not ops or _lower(operators_in(file)) & wanted]


def _files(paths: Sequence[Path], problems: Problems) -> Iterator[CaseFile]:
    """Yield each case file at the paths once, in order; its operator is not known yet.

    What has no case files is added to `problems`.
    """
    shipped = shipped_suites()
    seen: set[Path] = set()
    for path in paths:
        for file in _case_files_at(path, problems):
            path_of_file = real(file)
            if path_of_file in seen:
                continue
            seen.add(path_of_file)
            # Shipped files go by their place in the repository, others as the user named them.
            is_shipped = file.is_relative_to(shipped)
            name = Path("cases") / file.relative_to(shipped) if is_shipped else file
            yield CaseFile(
                name=str(name),
                path=file,
                shipped=path_of_file.is_relative_to(real(shipped)),
                problems=problems,
            )


def _case_files_at(path: Path, problems: Problems) -> list[Path]:
    """Return the case files in a folder, or the file itself, which need not exist.

    Added to `problems` are a folder without any, a Python file, an archive, and a misnamed file.
    """
    if os.path.isdir(path):  # noqa: PTH112  # Path's raises; reading reports it better
        known = len(problems)
        files = case_files_in(path, problems)
        if not files and len(problems) == known:
            message = "neither case files nor test data in this folder"
            hint = f"case files end in {SUFFIXES[0]}, a test is a folder with a model.onnx"
            problems.add(str(path), _WHOLE_FILE, message, hint)
        return files
    if path.suffix == ".py":
        hint = f"a backend in it is -b py:{path.stem}"
        problems.add(str(path), _WHOLE_FILE, "this is a Python file, not a case file", hint)
        return []
    if path.suffix.lower() in _ARCHIVES:
        hint = "unpack golden files first, and name their folder; opcheck verify reads a package"
        problems.add(str(path), _WHOLE_FILE, "this is an archive, not a case file", hint)
        return []
    if not is_case_file(path):
        message = f"a file *{reading.kind_of(path)} is not a case file"
        problems.add(str(path), _WHOLE_FILE, message, "rename it if it holds cases")
        return []
    return [path]


class _CasesOfFile:
    """Makes the cases of one file; reports everything that is wrong on the way.

    The head names the operators and has fields for all cases. Each entry of a list is expanded for
    each operator into concrete cases, which are resolved with its schema.

    Attributes:
        operators: The operators that the file names, and where.
        wanted: Those of them that the user asked for, in lower case; none means all.
        expansions: The expansion of each operator. One that is not known is expanded as the one
            that may be meant, which shows other mistakes, and has no cases.
    """

    def __init__(self, file: CaseFile, root: FileNode, ops: Collection[str]) -> None:
        self.file = file
        self.root = root
        self.operators: Mapping[str, Mark] = {}
        self.expansions: list[Expansion] = []
        head, sound_root, lost = validate(HeadFields, root, file.name, file.problems)
        names = root.get("op")
        if head is not None and names is not None:
            self.operators = validation.operators_of(names)
            self._files = [replace(file, domain=head.domain, op=op) for op in self.operators]
        else:
            self._files = []
        self.wanted = _lower(ops) & _lower(self.operators)
        # All are looked at before some are chosen: a file with an unknown operator is wrong.
        meant = [_meant(one, root, self.operators) for one in self._files]
        self.expansions = [
            Expansion(one, sound_root, lost)
            for one in meant
            if not self.wanted or one.op.lower() in self.wanted
        ]
        if head is not None:
            self._check_lists()

    def read(self) -> Mapping[_ListName, list[Case]]:
        """Return the cases of both lists, in the order in which the file names their operators.

        Both are read in any case, so that problems of both are reported. Problems are added to
        those of the file; nothing is raised.
        """
        order = {op: number for number, op in enumerate(self.operators)}
        cases = {name: self._cases_of_list(name) for name in _LISTS}
        self._check_every_operator(cases.values())
        return {
            name: sorted(in_list, key=lambda case: order[case.op.name])
            for name, in_list in cases.items()
        }

    def _check_lists(self) -> None:
        """Report a file without any list; a misspelt key is reported as such."""
        keys = self.root.entries
        if not any(name in keys for name in _LISTS) and not did_you_mean("cases", keys):
            self.file.problems.add(self.file.name, self.root.mark, "'cases' is missing")

    def _cases_of_list(self, name: _ListName) -> list[Case]:
        """Return the cases of the list of this name, none without it; report two of one id."""
        entries = self.root.get(name)
        cases: list[Case] = []
        #: Ids, with their places, also of cases that are wrong in themselves if their ids are sure.
        ids: list[tuple[str, Mark]] = []
        for entry in entries.items if entries else ():
            cases += self._cases_of_entry(entry, ids)
        # An entry of several operators may be meant to be twice of one.
        sources = (
            (id, Source(self.file.name, mark.line, mark.column)) for id, mark in dict.fromkeys(ids)
        )
        check_unique(sources, self.file.problems)
        return cases

    def _cases_of_entry(self, entry: FileNode, ids: list[tuple[str, Mark]]) -> list[Case]:
        """Return the cases of one entry of a list, and add to `ids` those that are sure.

        `ids` are pairs of an id and its place. Malformed parts are reported, and their cases left
        out.
        """
        file = self.file
        fields, sound_entry, lost = validate(CaseEntry, entry, file.name, file.problems)
        self._check_operators_of(sound_entry)
        if not isinstance(sound_entry.value, dict):
            return []
        # One without a sound name has no case, but may have more mistakes.
        name = fields.name if fields else "unnamed"
        is_single = "matrix" not in entry.entries and "rows" not in entry.entries
        is_sure = fields is not None and is_single
        reported: set[tuple[Mark, str]] = set()
        cases: list[Case] = []
        for expansion in self.expansions:
            concretes = [*expansion.expand(name, sound_entry, lost)]
            ids += [(one.id, one.node.mark) for one in concretes if is_sure or not one.lost]
            opsets = frozenset(_opsets(concretes))
            of_entry = replace(expansion.file, opsets=opsets, reported=reported)
            resolved = [resolve(of_entry, concrete) for concrete in concretes]
            if expansion.file in self._files:
                cases += [case for case in resolved if case is not None]
        return cases

    def _check_operators_of(self, entry: FileNode) -> None:
        """Report operators of a case or its rows that the file does not name."""
        if not self.operators:
            return
        rows = entry.get("rows")
        for owner in (entry, *(rows.items if rows else ())):
            node = owner.get("op")
            stated = validation.operators_of(node) if node else {}
            for op, mark in stated.items():
                if op not in self.operators:
                    message = f"{quoted(op)} is not an operator of this file"
                    others = f"its op: names {', '.join(self.operators)}"
                    hint = did_you_mean(op, self.operators) or others
                    self.file.problems.add(self.file.name, mark, message, hint)

    def _check_every_operator(self, lists: Iterable[list[Case]]) -> None:
        """Report operators that have no case; any other problem may be the reason.

        Nothing is reported next to other problems, or if the user asked for some operators.
        """
        if self.file.problems or self.wanted:
            return
        with_case = {case.op.name for in_list in lists for case in in_list}
        for op, mark in self.operators.items():
            if op not in with_case:
                message = f"no case of this file is of {quoted(op)}"
                self.file.problems.add(self.file.name, mark, message)


def _opsets(concretes: Iterable[Concrete]) -> Iterator[int]:
    """Yield the opsets that cases state as numbers."""
    for concrete in concretes:
        node = concrete.node.get("opset")
        if node and isinstance(node.value, int):
            yield node.value


def _meant(file: CaseFile, root: FileNode, named: Mapping[str, Mark]) -> CaseFile:
    """Return the file as it may be meant where its domain or operator is reported as unknown.

    A file of known ones is returned with the same domain and operator, and nothing is reported.
    `named` are the operators of the file, and where.
    """
    domain = file.domain
    op = file.op
    domains = opset.domains()
    with_operator = [other for other in domains if opset.versions(other, op)]
    if domain not in domains:
        if op == next(iter(named)):
            spelt = [known or '""' for known in domains]
            message = f"unknown domain {quoted(domain)} (known: {', '.join(spelt)})"
            hint = did_you_mean(domain, spelt)
            file.problems.add(file.name, root.at(["domain"]), message, hint)
        domain = [*with_operator, *nearest(domain, domains), domain][0]
    if domain in domains and domain not in with_operator:
        operators = opset.operators(domain)
        if with_operator:
            hint = f"it is one of domain {with_operator[0]!r}"
            domain = with_operator[0]
        else:
            hint = did_you_mean(op, operators)
        file.problems.add(file.name, named[op], f"unknown operator {quoted(op)}", hint)
        # A longer name may well be of another operator, and one that may mean two is none.
        near = [one for one in nearest(op, operators) if not op.startswith(one)]
        if len(near) == 1 and not with_operator:
            op = near[0]
    return replace(file, domain=domain, op=op)


def check_unique(ids: Iterable[tuple[str, Source]], problems: Problems) -> None:
    """Report every two cases of one id, in any case of letters: ids become names of folders.

    Each problem is added to `problems` at the later case; nothing is raised.
    """
    first: dict[str, Source] = {}
    for id, source in ids:
        other = first.get(id.lower())
        if other is None:
            first[id.lower()] = source
        else:
            message = f"two cases have the id {id} (the other is at {other})"
            problems.add(source.file, Mark(source.line, source.column), message)


def load_all(
    paths: Sequence[Path] = (),
    dims: Mapping[str, int] | None = None,
    selection: Selection = EVERYTHING,
    inputs: Path | None = None,
) -> tuple[Case, ...]:
    """Return cases as `load` does, from paths of any kind; without any, the shipped ones.

    Args:
        paths: Case files, models, folders of either, test data and node tests.
        dims: The open sizes of models, by name or as INPUT[AXIS].
        selection: Of shipped suites, cases that it does not choose may be left out.
        inputs: A folder of files that a model is fed, see `suite.models.fed_from`.

    Raises CaseFileError with every problem of the files; UsageError for sizes that no model has,
    wrong inputs, a folder of case files and test data, node tests that do not exist, and what
    `check_words` or `check_shipped_opsets` refuses, before any file is read.
    """
    from opcheck.suite import models as of_models

    check_words(selection)
    if not paths:
        check_shipped_opsets(selection.opsets)
    of_any_model = [path for path in dict.fromkeys(paths) if of_models.is_of_models(path)]
    models = [path for path in of_any_model if of_models.is_model(path)]
    tests = [path for path in of_any_model if path not in models]
    files = [path for path in paths if path not in of_any_model]
    problems = Problems()
    messages: list[tuple[Path, str]] = []
    # Before suites are read, which takes long.
    model_cases = of_models.cases_of_models(models, dims or {}, inputs, messages)
    cases: list[Case] = []
    if files or not paths:
        # A mistyped opset is not the same as one that has no case of the level.
        levels = LEVELS if selection.opsets else selection.levels
        cases += load(files, selection.operators, levels)
    cases += chain.from_iterable(of_models.tests_at(path, messages) for path in tests)
    cases += model_cases
    for path, message in messages:
        problems.add(str(path), _WHOLE_FILE, message)
    check_unique(((case.id, case.source) for case in cases), problems)
    problems.raise_if_any()
    return tuple(cases)


def check_case_files(paths: Sequence[Path], command: str) -> None:
    """Raise UsageError for a path of models, which `command` does not take.

    It is raised for a folder of both case files and test data, too.
    """
    from opcheck.suite.models import is_of_models

    for path in paths:
        if is_of_models(path):
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
    """Yield the coverage of operators by the shipped cases, of all or of those of these names.

    Names count in any case of letters, and may be patterns. The table that ships next to the cases
    is read. Raises UsageError for a name, or a pattern, of no operator.
    """
    every = [(domain, name) for domain in opset.domains() for name in opset.operators(domain)]
    for op in ops:
        if not any(map(operator_matcher([op]), (name for _, name in every))):
            raise UsageError(f"no operator {op!r}", did_you_mean(op, (name for _, name in every)))
    table = json.loads((shipped_suites() / JUDGED).read_text(encoding="utf-8"))
    is_wanted = operator_matcher(ops or ["*"])
    wanted = {(domain, opset.plain(name)) for domain, name in every if is_wanted(name)}
    for domain, name in sorted(wanted):
        yield from coverage(domain, name, table.get(domain, {}).get(name, {}))


def coverage(domain: str, name: str, stated: Mapping[str, Any]) -> Iterator[Coverage]:
    """Yield the coverage of each version but deprecated ones.

    `stated` has the types that cases judge, by version, and `why` others are not judged.
    """
    on_forms = [opset.versions(domain, other) for other in opset.on_forms(name)]
    for since, schema in opset.versions(domain, name).items():
        if schema.deprecated:
            continue
        schemas = [schema, *(versions[since] for versions in on_forms if since in versions)]
        computed = {text for one in schemas for text in _computed_types(one)}
        judged = {_as_onnx_writes_it(text) for text in stated.get(str(since), "").split()}
        types = next(chain(*schema.formals)).types
        yield Coverage(
            op=schema.op,
            types=types,
            computed=types & computed,
            judged=types & judged,
            why=stated.get("why", ""),
        )


def _computed_types(schema: opset.Schema) -> Iterator[str]:
    """Yield the types of the leading input or output that the engine computes, perhaps none."""
    if operator_of(schema.op):
        for parameter in chief_slots(schema):
            for text in parameter.types & BY_TEXT.keys():
                yield listed_type(parameter, text)


def _as_onnx_writes_it(text: str) -> str:
    """Return `seq(tensor(float))` for `seq(tensor(float32))`: the file has opcheck's names."""
    begin, dtype, end = re.split(r"(\w+)(?=\)*$)", text)
    return f"{begin}{DTYPES[dtype].text}{end}"


def chief_slots(schema: opset.Schema) -> list[opset.Parameter]:
    """Return the inputs or outputs whose types are those of a version's cells."""
    # A sequence is the first where it is declared so, though cases have its tensors last. Next to
    # an optional there may be a tensor in its place.
    first = next(chain(*schema.formals)).name
    parameters = (*schema.inputs, *schema.outputs)
    chief = next(one for one in parameters if one.name == first)
    return [
        one
        for one in parameters
        if one.constraint == chief.constraint
        and (one.listed == chief.listed or one.name == f"{first}_tensor")
    ]


def listed_type(parameter: opset.Parameter, name: str) -> str:
    """Return a type of tensors as that of the sequence or optional in whose place they are.

    It is the type itself for a parameter that is neither.
    """
    return f"{parameter.listed}{name}{')' * parameter.listed.count('(')}"
