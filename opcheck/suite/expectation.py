"""A case's expected answer: values, golden files, a rejection, or one of several answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opcheck import opset
from opcheck.dtypes import content
from opcheck.engine import operator_of
from opcheck.errors import did_you_mean
from opcheck.model import (
    Agreement,
    Alternative,
    AnyOf,
    Case,
    Computed,
    Expectation,
    Given,
    Golden,
    Oracle,
    Rejected,
    TensorSpec,
    Values,
)
from opcheck.reading import quoted
from opcheck.reading.validation import Location
from opcheck.suite import fields as f
from opcheck.suite.overlay import PATHS_ARE, parse_path, put
from opcheck.suite.tensors import InvalidTensor, inside

if TYPE_CHECKING:
    from opcheck.suite.resolve import Resolver


def _answers(expect: object) -> list[tuple[Location, Any]]:
    """The answers that an expectation admits, each with its path."""
    if isinstance(expect, f.AnyOfField):
        return [(("expect", "any_of", k), answer) for k, answer in enumerate(expect.any_of)]
    return [(("expect",), expect)]


def admits_rejection(expect: object) -> bool:
    """Return True if the case may be an illegal model: an expected answer is a refusal."""
    return any(isinstance(answer, f.RejectedField) for _, answer in _answers(expect))


def output_names(expect: object) -> dict[str, Location]:
    """The outputs that an expectation names, each with the path at which it does so first."""
    if isinstance(expect, f.ComputedField):
        return {name: ("expect", "computed", n) for n, name in enumerate(expect.computed)}
    named: dict[str, Location] = {}
    for path, answer in _answers(expect):
        for name in _outputs(answer):
            named.setdefault(name, (*path, name))
    return named


def resolve(resolver: Resolver, case: Case) -> Expectation:
    """The expectation of `case`; problems are reported through `resolver`."""
    expect = resolver.fields.expect
    if isinstance(expect, f.AnyOfField):
        found: list[Alternative] = []
        for path, answer in _answers(expect):
            if answer.name in (one.name for one in found):
                message = f"two answers are named {answer.name!r}"
                resolver.problem(resolver.node.at((*path, "as")), message)
            meant = _one(resolver, case, answer, path)
            if resolver.sound and _likeness(meant) in (_likeness(one.expect) for one in found):
                what = "are rejections" if isinstance(meant, Rejected) else "are the same"
                resolver.problem(resolver.node.at(path), f"two answers {what}")
            found.append(Alternative(answer.name, meant))
        if case.rule != "open":
            resolver.lacking(resolver.at("expect"), "any_of needs rule: open")
        return AnyOf(tuple(found))
    if case.rule == "open":
        message = "rule: open needs expect.any_of, the answers admitted"
        resolver.lacking(resolver.at("rule"), message)
    if isinstance(expect, f.OracleField | f.AgreeField):
        # Both answers may be rounded, so that no bound holds.
        exact = all(output.dtype and output.dtype.kind != "float" for output in case.outputs)
        if resolver.fields.tolerance is None and not (exact or is_exact(case)):
            message = "a backend's answer has errors of its own: tolerance must be stated"
            hint = "such as tolerance: {rtol: 1e-5, atol: 1e-6}; {ulp: 0} compares exactly"
            resolver.lacking(resolver.at("expect"), message, hint)
        return Oracle(expect.oracle) if isinstance(expect, f.OracleField) else Agreement()
    return _one(resolver, case, expect, ("expect",))


def stated(expect: Expectation) -> tuple[TensorSpec, ...]:
    """Every tensor that an expectation writes out."""
    if isinstance(expect, AnyOf):
        return tuple(spec for one in expect.alternatives for spec in stated(one.expect))
    return expect.outputs if isinstance(expect, Values) else ()


def _likeness(answer: Values | Computed | Golden | Rejected) -> object:
    """Return a key that is equal for answers written alike, and for all refusals."""
    if isinstance(answer, Values):
        held = (s.content for s in answer.outputs)
        contents = [content(it.values) if isinstance(it, Given) else it for it in held]
        return contents, [(s.name, s.dtype, s.shape, s.put) for s in answer.outputs]
    return Rejected if isinstance(answer, Rejected) else answer


def _one(
    resolver: Resolver, case: Case, answer: object, path: Location
) -> Values | Computed | Golden | Rejected:
    if isinstance(answer, f.RejectedField):
        return _rejected(resolver, case, answer, path)
    if isinstance(answer, f.GoldenField):
        return _golden(resolver, case, answer, path)
    if _outputs(answer):
        return _values(resolver, case, answer, path)
    if resolver.needs_answer and operator_of(case.op) is None:
        message = f"the engine has no kernel for {case.op}: expect must state the outputs"
        resolver.lacking(resolver.node.at(path), message)
    return Computed()


def _values(resolver: Resolver, case: Case, answer: object, path: Location) -> Values:
    tensors = _outputs(answer)
    specs: list[TensorSpec] = []
    known = {output.name for output in case.outputs}
    misspelt = [name for name in tensors if name not in known]
    for output in case.outputs:
        if output.name not in tensors:
            meant = [output.name, *f.FORMS]
            if output.name and not any(did_you_mean(name, meant) for name in misspelt):
                resolver.lacking(resolver.node.at(path), f"expect lacks output {output.name!r}")
            continue
        fields = tensors[output.name]
        place = (*path, output.name)
        if output.dtype is None and getattr(fields, "dtype", None) is None:
            # What is wrong with the inputs has been said, and may be the reason.
            if resolver.sound:
                message = f"{output.name}: its dtype does not follow from the inputs"
                resolver.lacking(resolver.node.at(place), message, "{value: …, dtype: …} states it")
            continue
        spec = resolver.tensor(output.name, place, fields, output.dtype)
        if spec is None:
            continue
        if output.dtype and spec.dtype != output.dtype:
            message = f"{output.name}: {case.op} gives {output.dtype} here, not {spec.dtype}"
            resolver.problem(resolver.node.at((*place, "dtype")), message)
        specs.append(spec)
    if any(spec.dtype.kind == "float" for spec in specs):
        _check_bound(resolver, case)
    return Values(tuple(specs))


def is_exact(case: Case) -> bool:
    """Return True if floats are compared exactly where the case states no tolerance."""
    floats = any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs)
    return floats and operator_of(case.op) is None and opset.is_exact(case.op, case.attrs)


def _check_bound(resolver: Resolver, case: Case) -> None:
    unknown = operator_of(case.op) is None and not is_exact(case)
    if resolver.fields.tolerance is None and unknown:
        message = f"opcheck knows no error bound for {case.op}: tolerance must be stated"
        resolver.lacking(resolver.node.mark, message, "tolerance: {ulp: 0} compares exactly")


def _outputs(answer: object) -> dict[str, object]:
    if isinstance(answer, f.AlternativeOutputsField):
        return dict(answer.__pydantic_extra__ or {})
    return answer if isinstance(answer, dict) else {}


def _golden(resolver: Resolver, case: Case, answer: f.GoldenField, path: Location) -> Golden:
    mark = resolver.node.at((*path, "golden"))
    try:
        folder = inside(resolver.file.path.parent, answer.golden, mark)
        for number in range(len(case.outputs)):
            inside(folder, f"output_{number}.pb", mark)
    except InvalidTensor as refused:
        resolver.problem(refused.mark, refused.message, refused.hint)
        return Golden(resolver.file.path.parent)
    if any(output.dtype is None or output.dtype.kind == "float" for output in case.outputs):
        _check_bound(resolver, case)
    return Golden(folder)


def _rejected(resolver: Resolver, case: Case, answer: f.RejectedField, path: Location) -> Rejected:
    legal = resolver.node.get(*path, "legal")
    assert legal  # validated before
    ((key, value),) = legal.entries.items()
    # What must come out of the legal twin does not matter, only that it runs.
    start, steps = resolver.node.without(("expect", "rule", "tolerance")), parse_path(key)
    node = put(start, steps, value) if steps else None
    twin = None
    if not steps:
        resolver.problem(legal.keys[key], f"legal: {quoted(key)} is no path", PATHS_ARE)
    elif node is None:
        resolver.problem(legal.keys[key], f"legal: {quoted(key)} leads into a literal")
    elif node.plain() == start.plain():
        resolver.problem(resolver.node.at((*path, "legal"), key=True), "legal changes nothing")
    else:
        twin = resolver.twin(replace(resolver.concrete, id=f"{case.id}~legal", node=node))
    return Rejected(answer.rejected, twin or case)
