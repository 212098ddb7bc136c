"""Selection of a suite's cases by a command, and digests of them.

A digest is of the question and the stated answer, equal on every machine and different for
different cases. Place, explanation and time limit of a case are not part of it, nor is what the
engine computes, which is a matter of opcheck's version.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from heapq import heapreplace
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from opcheck import dtypes, model, reading
from opcheck.errors import UsageError, did_you_mean, few
from opcheck.opset import domains, newest, operators

#: Each level holds the ones before it.
LEVELS: tuple[model.Level, ...] = ("smoke", "core", "deep")
#: The level of tensors beyond 32-bit indices: no other includes it, and it includes no other.
HUGE: model.Level = "huge"
#: More operators than this are counted, and not named, in a message.
_MANY = 20
#: Longer expressions, by words and parentheses, would need too deep a recursion.
_MAX_TOKENS = 100
#: What a case takes besides its inputs, in the time of so many elements.
_CASE_COST = 8192


@dataclass(frozen=True)
class Selection:
    """Conditions for a case to be selected; an empty field is none. UsageError: no such level."""

    ids: tuple[str, ...] = ()
    keywords: str = ""
    ops: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    level: model.Level = "core"

    def __post_init__(self) -> None:
        if self.level not in (*LEVELS, HUGE):
            raise UsageError(f"no level {self.level!r}", f"levels: {', '.join((*LEVELS, HUGE))}")

    @property
    def levels(self) -> tuple[model.Level, ...]:
        """The levels of cases that may be selected: those named by id at any, but for huge."""
        if self.level == HUGE:
            return (HUGE,)
        return LEVELS if self.ids else LEVELS[: LEVELS.index(self.level) + 1]

    @property
    def operators(self) -> Sequence[str]:
        """The operators whose suites have all that may be selected; empty where any may."""
        if any(map(_is_pattern, self.ops)):
            is_wanted = operator_matcher(self.ops)
            return [*filter(is_wanted, reading.shipped_operators())]
        if self.ops:
            return self.ops
        names = [id.partition("/")[0] for id in self.ids]
        return [] if any(map(_is_pattern, names)) else names

    def __str__(self) -> str:
        parts = {
            "case": " ".join(self.ids),
            "keywords": self.keywords,
            "op": " ".join(self.ops),
            "opset": " ".join(map(str, self.opsets)),
            "dtype": " ".join(self.dtypes),
            "level": "" if self.ids and self.level != HUGE else self.level,
        }
        return ", ".join(f"{key} {value}" for key, value in parts.items() if value)

    def why_empty(self, cases: Collection[model.Case], *, python: bool = False) -> str:
        """Return the selection, and the numbers of cases without each condition of it.

        That is `op Add, level core; 3 without --op`; `python` has the fields' names in place of
        options. Conditions without which there is no case are left out. Raises UsageError for wrong
        keywords.
        """
        counts = []
        for name, option in _OPTIONS.items():
            wider = replace(self, **{name: getattr(EVERYTHING, name)})
            count = len(select(cases, wider))
            if count:
                label = name if python else option
                how = f"at {label} deep" if name == "level" else f"without {label}"
                counts.append(f"{count:,} {how}")
        return f"{self}; {', '.join(counts)}" if counts else str(self)


EVERYTHING = Selection(level="deep")
#: The options of commands for the fields of a selection.
_OPTIONS = {
    "ids": "--case",
    "keywords": "-k",
    "ops": "--op",
    "opsets": "--opset",
    "dtypes": "--dtype",
    "level": "--level",
}


def choose(
    cases: Sequence[model.Case], selection: Selection, noun: str = "case"
) -> tuple[model.Case, ...]:
    """Return the cases that a user selects, in their order; `noun` names one in messages.

    Raises UsageError for what `check_words` refuses, an id, a pattern, an operator or an opset that
    no case has, and an operator without a case for the other conditions next to one with some.
    """
    check_words(selection)
    _check_ids(cases, selection.ids, noun)
    _check_operators(cases, selection.ops, noun)
    _check_opsets(cases, selection.opsets, noun)
    chosen = select(cases, selection)
    if chosen:
        _check_each_operator(cases, chosen, selection, noun)
    return chosen


def check_words(selection: Selection) -> None:
    """Raise UsageError for what is wrong in a selection, whatever cases there are.

    That is a name of no element type, and keywords that are no expression.
    """
    for dtype in selection.dtypes:
        if dtype not in dtypes.DTYPES:
            hint = did_you_mean(dtype, dtypes.DTYPES) or f"known: {', '.join(dtypes.DTYPES)}"
            raise UsageError(f"unknown dtype {dtype!r}", hint)
    if selection.keywords:
        keyword_matcher(selection.keywords)


def check_shipped_opsets(wanted: Iterable[int]) -> None:
    """Raise UsageError for an opset that no shipped case can be of, as ONNX does not have it."""
    last = max(map(newest, domains()))
    for opset in wanted:
        if not 1 <= opset <= last:
            raise UsageError(f"there is no opset {opset}", f"the newest is {last}")


def _check_ids(cases: Collection[model.Case], wanted: Iterable[str], noun: str) -> None:
    """Raise UsageError for an id, or a pattern, of no case."""
    ids = {case.id for case in cases}
    for id in wanted:
        if _meant(id, ids):
            continue
        op = id.partition("/")[0]
        of_operator = [one for one in ids if one.startswith(f"{op}/")]
        if of_operator:
            others = _completions(f"{op}/", of_operator)
        else:
            others = _completions(op, _operators_of(cases) - {op})
        hint = _completions(id, of_operator or ids) or others
        message = f"no {noun} matches" if _is_pattern(id) else f"no {noun}"
        raise UsageError(f"{message} {id!r}", hint)


def _check_operators(cases: Collection[model.Case], wanted: Iterable[str], noun: str) -> None:
    """Raise UsageError for an operator that has no cases here."""
    here = {case.op.name for case in cases}
    for op in wanted:
        if any(map(operator_matcher([op]), here)):
            continue
        if op in operators(""):
            hint = f"{op} is an operator of ONNX without cases here: pass a file with some"
        else:
            known = _operators_of(cases)
            hint = _completions(op, known) or _named_operators(known)
        raise UsageError(f"no {noun} of operator {op!r}", hint)


def _named_operators(known: Collection[str]) -> str:
    """Return a hint that names the operators with cases, or how to list them if they are many."""
    if len(known) > _MANY:
        return f"there are cases of {len(known)} operators: see opcheck list --operators"
    return f"there are cases of {', '.join(sorted(known))}"


def _check_opsets(cases: Collection[model.Case], wanted: Iterable[int], noun: str) -> None:
    """Raise UsageError for an opset that no case has."""
    opsets = {case.opset for case in cases}
    for opset in wanted:
        if opset not in opsets:
            raise UsageError(f"no {noun} at opset {opset}", _listed(opsets))


def _check_each_operator(
    cases: Collection[model.Case],
    chosen: Collection[model.Case],
    selection: Selection,
    noun: str,
) -> None:
    """Raise UsageError for an operator without a case next to one that has some.

    `chosen` are the cases selected. Keywords do not count: they may choose operators.
    """
    with_case = {case.op.name for case in chosen}
    for op in selection.ops:
        is_meant = operator_matcher([op])
        if any(map(is_meant, with_case)):
            continue
        others = replace(selection, ops=(), keywords="")
        if not select(cases, replace(others, ops=(op,))):
            opsets = {case.opset for case in cases if is_meant(case.op.name)}
            hint = _listed(opsets) if selection.opsets else None
            raise UsageError(f"no {noun} of operator {op!r} for {others}", hint)


def _listed(opsets: Iterable[int]) -> str:
    """Return the opsets as hints have them, in order."""
    return f"opsets: {', '.join(map(str, sorted(opsets)))}"


def _is_pattern(word: str) -> bool:
    """Return True for a word with * or ?."""
    return "*" in word or "?" in word


def operator_matcher(wanted: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of operators' names: True for a name of `wanted`, or of a pattern with * or ?.

    Upper and lower case are alike.
    """
    patterns = [name.lower().replace("[", "[[]") for name in wanted]

    def is_wanted(name: str) -> bool:
        return any(fnmatchcase(name.lower(), pattern) for pattern in patterns)

    return is_wanted


def _meant(wanted: str, ids: Collection[str]) -> list[str]:
    """Return the id that `wanted` is; if it is none, those that match it as a pattern.

    Only * and ? are special. Without these, a word that is no id gives none.
    """
    if wanted in ids:
        return [wanted]
    if not _is_pattern(wanted):
        return []
    pattern = wanted.replace("[", "[[]")
    return [id for id in ids if fnmatchcase(id, pattern)]


def _operators_of(cases: Iterable[model.Case]) -> set[str]:
    """Return the operators of these cases; all that shipped files have, unless others were read."""
    if not all(case.source.shipped for case in cases):
        return {case.op.name for case in cases}
    return {*reading.shipped_operators()}


def _completions(word: str, known: Iterable[str]) -> str | None:
    """Return a hint of names that begin with `word`, or one that is like it; None without any."""
    names = sorted(known)
    longer = [repr(name) for name in names if name.startswith(word)]
    if not longer:
        return did_you_mean(word, names)
    return f"did you mean {few(longer, 3)}?"


def select(cases: Collection[model.Case], selection: Selection) -> tuple[model.Case, ...]:
    """Return the cases that meet all of `selection`, in their order.

    Those named by id are selected at any level. Names of nothing select nothing. Raises UsageError
    for wrong keywords.
    """
    selected = cases
    for condition in _conditions(cases, selection):
        selected = [case for case in selected if condition(case)]
    return tuple(selected)


def _conditions(
    cases: Collection[model.Case], selection: Selection
) -> list[Callable[[model.Case], bool]]:
    """Return the conditions that a selection states, the quickly checked ones first.

    Raises UsageError for wrong keywords.
    """
    known_ids = {case.id for case in cases}
    ids = {id for pattern in selection.ids for id in _meant(pattern, known_ids)}
    is_wanted = operator_matcher(selection.ops)
    of_wanted = {case.op.name for case in cases if is_wanted(case.op.name)}
    dtypes = {*selection.dtypes}
    matches = keyword_matcher(selection.keywords) if selection.keywords else None

    def has_level(case: model.Case) -> bool:
        return case.level in selection.levels

    def has_id(case: model.Case) -> bool:
        return case.id in ids

    def has_operator(case: model.Case) -> bool:
        return case.op.name in of_wanted

    def has_opset(case: model.Case) -> bool:
        return case.opset in selection.opsets

    def has_dtype(case: model.Case) -> bool:
        return not dtypes.isdisjoint(_dtypes(case))

    def has_keywords(case: model.Case) -> bool:
        return matches is None or matches(case.id.lower())

    conditions: list[Callable[[model.Case], bool]] = [has_level]
    if selection.ids:
        conditions.append(has_id)
    if selection.ops:
        conditions.append(has_operator)
    if selection.opsets:
        conditions.append(has_opset)
    if selection.dtypes:
        conditions.append(has_dtype)
    if selection.keywords:
        conditions.append(has_keywords)
    return conditions


def _dtypes(case: model.Case) -> set[str]:
    """Return the case's dtype, or those of its inputs where each states its own."""
    if case.dtype:
        return {case.dtype.name}
    return {spec.dtype.name for spec in case.inputs}


def keyword_matcher(expression: str) -> Callable[[str], bool]:
    """Return a test of ids in lower case, as pytest's -k: words, and, or, not, ( and ).

    A word is true of an id that holds it; the case of its own letters does not count. Raises
    UsageError for an expression that is none, an empty one too, and for more than 100 words and
    parentheses.
    """
    tokens = re.findall(r"[()]|[^\s()]+", expression.lower())
    message = _wrong_expression(tokens)
    if message:
        hint = "words, and, or, not, ( and ): 'ties and not float16'"
        raise UsageError(f"keywords {reading.quoted(expression)}: {message}", hint)
    # What is an expression here is one of Python, once its words are tests.
    operators_of_python = ("and", "or", "not", "(", ")")
    python = [token if token in operators_of_python else f"({token!r} in name)" for token in tokens]
    return cast(Callable[[str], bool], eval(f"lambda name: {' '.join(python)}"))


def _wrong_expression(tokens: Sequence[str]) -> str | None:
    """Return why the words and parentheses are not an expression, None if they are one."""
    if len(tokens) > _MAX_TOKENS:
        return f"more than {_MAX_TOKENS} words"
    depth = 0
    wants_word = True
    for token in (*tokens, ""):
        if wants_word and token in ("", ")", "and", "or"):
            return f"a word is missing {f'before {token!r}' if token else 'at the end'}"
        if wants_word:
            wants_word = token in ("(", "not")
            depth += token == "("
        elif token in ("and", "or"):
            wants_word = True
        elif token == ")" and depth:
            depth -= 1
        elif token or depth:
            return "a ) is missing" if depth else f"{token!r} is one too many"
    return None


def shard(cases: Sequence[model.Case], number: int, total: int) -> tuple[model.Case, ...]:
    """Return the cases of the shard `number`, from 1, of `total`, in their order.

    Each case is in one shard, and every machine finds the same shards. They take about equally long
    by the size of inputs. A shard may be empty. Numbers are not checked here.
    """
    costs = [_CASE_COST + sum(prod(spec.shape) for spec in case.inputs) for case in cases]
    # The most expensive first, each to the shard with the least load. In order, loads are a heap.
    loads = [(0, index) for index in range(total)]
    mine = []
    for place in sorted(range(len(cases)), key=lambda place: (-costs[place], place)):
        load, index = loads[0]
        heapreplace(loads, (load + costs[place], index))
        if index == number - 1:
            mine.append(place)
    return tuple(cases[place] for place in sorted(mine))


def case_digest(case: model.Case) -> str:
    """Return the digest of `case`, 16 hexadecimal digits; files that it names are read.

    One that cannot be read counts as such, and raises nothing. A digest that was stored with the
    case is not computed again.
    """
    stored_with, digest = _stored_digests.get(case.id, (None, ""))
    return digest if stored_with is case else _computed_digest(case)


#: Cases that were read together with their digests, and these, by the case's id.
_stored_digests: dict[str, tuple[model.Case, str]] = {}


def set_stored_digest(case: model.Case, digest: str) -> None:
    """Have `case_digest` return this digest for this very case, of which it must be right."""
    _stored_digests[case.id] = (case, digest)


def names_files(expect: model.Expectation) -> bool:
    """Return True if files of expected outputs, golden ones, belong to an expectation."""
    match expect:
        case model.AnyOf(alternatives):
            return any(names_files(alternative.expect) for alternative in alternatives)
        case model.Rejected(_, legal):
            return legal is not None and names_files(legal.expect)
        case _:
            return isinstance(expect, model.Golden)


def _computed_digest(case: model.Case) -> str:
    """Return the digest of `case`, as `case_digest` does, without looking for a stored one."""
    parts = [case.id, _node(case), case.rule]
    if case.model is not None:
        from opcheck.opset import weights

        parts += [weights.digest(case.model), _ports(case.ports), case.beyond]
    # 64 bits are enough: cases of one id are not made to collide on purpose.
    return _sha256(json.dumps(parts).encode())[:16]


def suite_digest(cases: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a list of cases, by their ids and digests, in order.

    It has 64 hexadecimal digits.
    """
    return _sha256("".join(f"{id} {digest}\n" for id, digest in cases).encode())


def _node(case: model.Case) -> list[Any]:
    """Return what is asked and expected, as plain lists and values."""
    return [
        [case.op.domain, case.op.name, case.op.since, case.opset],
        case.dtype and case.dtype.name,
        sorted((name, _plain(value)) for name, value in case.attrs.items()),
        [_tensor(spec) for spec in case.inputs],
        case.slots,
        [_output(number, output) for number, output in enumerate(case.outputs)],
        _expectation(case.expect),
        _tolerance(case.tolerance),
    ]


def _output(number: int, output: model.OutputSpec) -> list[Any]:
    """Return the name and dtype of an output as a list, with its place if that is not `number`."""
    parts: list[Any] = [output.name, output.dtype and output.dtype.name]
    if output.place not in (None, number):
        parts.append(output.place)
    return parts


def _tolerance(tolerance: model.Tolerance | None) -> list[Any] | None:
    """Return the numbers of a tolerance as a list, and "strict" if it is; None without one."""
    if tolerance is None:
        return None
    numbers = (tolerance.ulp, tolerance.rtol, tolerance.atol, tolerance.signed_zeros)
    parts = [_plain(number) for number in numbers]
    if tolerance.strict:
        parts.append("strict")
    return parts


def _expectation(expect: model.Expectation) -> list[Any]:
    """Return an expectation as a list that begins with its form; golden files are read."""
    match expect:
        case model.Values(outputs, ports, random):
            written = ["values", *map(_tensor, outputs)]
            return [*written, _ports(ports), sorted(random)] if ports else written
        case model.Computed():
            return ["computed"]
        case model.Golden(folder):
            files = sorted(folder.glob("output_*.pb"))
            return ["golden", *([file.name, _file(file)] for file in files)]
        case model.Oracle(backend):
            return ["oracle", backend]
        case model.Agreement():
            return ["agreement"]
        case model.Rejected(_, legal):
            return ["rejected", *([_node(legal)] if legal else [])]
        case model.AnyOf(alternatives):
            return ["any", *([one.name, _expectation(one.expect)] for one in alternatives)]


def _ports(ports: Iterable[model.Port]) -> list[Any]:
    """Return what each value of a model is, as lists."""
    return [[port.name, port.form, port.count] for port in ports]


def _tensor(spec: model.TensorSpec) -> list[Any]:
    """Return a tensor as a list: how it is made, or digests of what it holds; files are read."""
    match spec.content:
        case model.Given(values):
            content: list[Any] = ["given", _array(values)]
        case model.Fill(kind, args, seed):
            content = [kind, [_plain(arg) for arg in args], seed]
        case model.FromFile(path):
            content = ["file", _file(path)]
    put = [[one.at, _plain(one.value)] for one in spec.put]
    return [spec.name, spec.dtype.name, spec.shape, content, put, spec.initializer]


def _plain(value: Any) -> Any:
    """Return a value that differs from all others: 1 from 1.0 and from "1", 0.0 from -0.0."""
    if isinstance(value, model.Typed):
        return {value.type: _plain(value.value)}
    if isinstance(value, np.ndarray):
        return ["tensor", str(dtypes.of(value)), value.shape, _array(value)]
    if isinstance(value, tuple):
        # Of long lists, nearly all are floats.
        return [["float", it.hex()] if type(it) is float else _plain(it) for it in value]
    if isinstance(value, complex):
        return ["complex", value.real.hex(), value.imag.hex()]
    return ["float", value.hex()] if isinstance(value, float) else value


def _array(values: model.Array) -> list[str]:
    """Return the type of an array's elements and a digest of them; all NaNs are one."""
    if values.dtype.hasobject:
        return ["string", _sha256(json.dumps(values.reshape(-1).tolist()).encode())]
    if values.dtype.kind == "f":
        # There are many NaNs, and files know one.
        values = np.where(np.isnan(values), np.nan, values)
    dtype = values.dtype.newbyteorder("<")
    return [dtype.str, _sha256(values.astype(dtype).tobytes())]


def _file(path: Path) -> str:
    # A pipe would never end.
    """Return the SHA-256 of a file, or "cannot be read", as for what is no file."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return "cannot be read"


def _sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
