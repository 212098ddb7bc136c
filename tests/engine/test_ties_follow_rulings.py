"""Where a formula orders equal elements or rounds halves, a ruling or a sentence decides.

A text that asks for the largest of equal elements, or for the nearest of two numbers, has to state
which one. The functions of formulas that call NumPy's orders and roundings, or add a half before
they cut off, are found in the source. Each must be listed with the ruling that it follows, the
sentence that it quotes, or the reason for which neither order nor rounding shows in its answer.
Mutants are wrong on purpose.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import onnx
import pytest

from opcheck.engine.all_rulings import all_rulings
from tests.shell import ROOT

FORMULAS = ROOT / "opcheck" / "engine" / "ops"
#: Functions and methods whose answer depends on the order of equal elements, or rounds halves.
WATCHED = frozenset(
    """
    argmax argmin argpartition argsort around lexsort most_common nanargmax nanargmin rint round
    searchsorted sort top_k unique
    """.split()
)
CUTS = frozenset({"ceil", "floor", "int", "trunc"})


@dataclass(frozen=True)
class Follows:
    """The function asks these rulings, by their ids."""

    rulings: tuple[str, ...]


@dataclass(frozen=True)
class Quotes:
    """The texts of operators at these versions have the sentence."""

    sentence: str
    versions: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Argued:
    """Neither the order of equal elements nor a rounded half shows in what the function returns."""

    why: str


Reason: TypeAlias = Follows | Quotes | Argued

PERMUTATION = Argued("A permutation has no equal elements; this is its inverse.")
FIRST_OF_EXTREMES = "Otherwise the index of the first occurrence is selected."
EVEN = "rounding to nearest ties to even"
EVEN_IN_QUANTIZE_LINEAR = "nearest even"
#: Why each function may order or round, by module and name.
REASONS: Mapping[str, tuple[Reason, ...]] = {
    "constants.count_of_floats": (
        Argued("It asks if a quotient is whole or close to it: a half is neither way."),
    ),
    "det.triangles": (
        Argued("The determinant does not depend on which of equal pivots comes first."),
    ),
    "fourier.dft": (PERMUTATION,),
    "grid_sample.Sampling": (
        Follows(("unstated-ties",)),
        Quotes("rounds to the nearest even index", {"GridSample": (20, 22)}),
    ),
    "grid_sample.by_cubic_edges": (
        Argued("It makes whole numbers of places that reflections leave whole but for roundings."),
    ),
    "grid_sample.cast_averages": (Follows(("cast-of-averages",)),),
    "group_normalization.normalized_in_groups": (PERMUTATION,),
    "linear_attention.linear_attention": (PERMUTATION,),
    "linear_models.label_of_largest": (Follows(("top-of-equal-scores",)),),
    "max_roi_pool.bins": (
        Argued("A bin is judged only if its maximum is the same by every border of it."),
    ),
    "mel_weight_matrix.as_type": (Follows(("fractions-as-integers",)),),
    "non_max_suppression.by_score": (Follows(("order-of-equal-scores",)),),
    "normalizations.have_exact_mean": (Argued("It asks if numbers are whole: a half is not."),),
    "pow.integer_power": (Argued("Only powers that are whole are judged."),),
    "preprocessing.cast_to_integers": (Follows(("cast-of-fractions",)),),
    "quantization.by_the_readings": (Follows(("fractions-to-few-bits",)),),
    "quantization.converted": (
        Quotes(EVEN_IN_QUANTIZE_LINEAR, {"QuantizeLinear": (10, 13, 19, 21, 23, 24, 25)}),
        Quotes(EVEN, {"DynamicQuantizeLinear": (11,), "QLinearMatMul": (10, 21)}),
        Argued(
            "QLinearConv “computes the quantized output” without a rounding of its own, and ONNX"
            " states what quantizing is in QuantizeLinear alone."
        ),
    ),
    "quantization.are_whole_in": (Argued("It asks if numbers are whole: a half is not."),),
    "resampling.round_prefer_floor": (
        Quotes("(default, as known as round half down)", {"Resize": (11, 13, 18, 19)}),
        Follows(("unstated-rounding",)),
    ),
    "resampling.round_prefer_ceil": (
        Quotes("(as known as round half up)", {"Resize": (11, 13, 18, 19)}),
        Follows(("unstated-rounding",)),
    ),
    "rotary_embedding.rotated": (PERMUTATION,),
    "scatter.turns_of": (
        Argued(
            "It numbers the updates of one element; `depend_on_order` leaves out where order shows."
        ),
    ),
    "softmax.jointly": (PERMUTATION,),
    "softmax.one_hot": (
        Quotes("1 for the first maximum value", {"Hardmax": (1, 11)}),
        Quotes("1 if the element is the first maximum value", {"Hardmax": (13,)}),
    ),
    "softmax.one_put": (Quotes("1 if the element is the first maximum value", {"Hardmax": (13,)}),),
    "top_k": (
        Quotes(FIRST_OF_EXTREMES, {"ArgMax": (12, 13), "ArgMin": (12, 13)}),
        Follows(("one-of-equal-elements",)),
    ),
    "top_k.changed": (Argued("It gives mutants the right results, which `in_order` argues."),),
    "top_k.nth_place": (Argued("It finds the only True that is left along the axis."),),
    "top_k.in_order": (
        Quotes("the element with the lower index will appear first", {"TopK": (1, 10, 11, 24)}),
    ),
    "top_k.order_between_nan": (
        Quotes("the element with the lower index will appear first", {"TopK": (1, 10, 11, 24)}),
    ),
    "top_k.of_input": (Argued("It sorts the places of elements, which are all different."),),
    "unary": (Quotes("In case of halves", {"Round": (11, 22)}),),
}


def is_half_added(node: ast.AST) -> bool:
    """Return True for a sum or difference of which one term is 0.5."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return False
    terms = (node.left, node.right)
    return any(isinstance(term, ast.Constant) and term.value == 0.5 for term in terms)


def orders_or_rounds(node: ast.AST) -> bool:
    """Return True for a name of WATCHED, and for a call that cuts off after adding a half."""
    if isinstance(node, ast.Attribute) and node.attr in WATCHED:
        return True
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name == "round" or (name in CUTS and any(map(is_half_added, node.args)))


def functions(tree: ast.AST, scope: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of functions that order or round, but for mutants; "" for the module."""
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if (ast.get_docstring(node) or "").startswith("Mutant"):
                continue
            inner = (*scope, node.name)
        if orders_or_rounds(node):
            yield ".".join(inner)
        yield from functions(node, inner)


def found_in(source: str, module: str) -> set[str]:
    return set(functions(ast.parse(source), (module,)))


def test_ties_and_halves_follow_rulings() -> None:
    found: set[str] = set()
    for path in FORMULAS.rglob("*.py"):
        found |= found_in(path.read_text("utf-8"), path.stem)
    # Tables of mutants stand beside the functions of a module.
    assert found - {"mel_weight_matrix", "window_functions"} == set(REASONS)


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("return np.argsort(x)", True),
        ("return x.argmax()", True),
        ("return np.floor(x + 0.5)", True),
        ("return round(x)", True),
        ("return {'Round': xp.round}", True),
        ("return np.floor(x)", False),
        ("'''Mutant: the last one.'''; return np.argsort(x)", False),
    ],
)
def test_what_orders_or_rounds_is_found(body: str, is_found: bool) -> None:
    assert found_in(f"def f(x):\n    {body}", "m") == ({"m.f"} if is_found else set())


RULINGS = {ruling.id for ruling in all_rulings()}


def text_of(op: str, since: int) -> str:
    """The text of an operator, of its attributes too, with single spaces."""
    schema = onnx.defs.get_schema(op, since)
    attributes = (attribute.description for attribute in schema.attributes.values())
    return " ".join(" ".join([schema.doc or "", *attributes]).split())


@pytest.mark.parametrize("name", REASONS)
def test_reasons_are_true(name: str) -> None:
    """Rulings exist and are named in the module; sentences stand in each of the texts."""
    module = name.partition(".")[0]
    source = Path(FORMULAS / f"{module}.py").read_text("utf-8")
    for reason in REASONS[name]:
        match reason:
            case Follows(rulings):
                assert {*rulings} <= RULINGS
                assert all(f'"{one}"' in source for one in rulings)
            case Quotes(sentence, versions):
                for op, several in versions.items():
                    for since in several:
                        assert sentence in text_of(op, since), (op, since)
            case Argued(why):
                assert why.endswith(".")
