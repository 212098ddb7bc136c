"""MatMul and Gemm, all versions: products of matrices.

MatMul is "Matrix product that behaves like numpy.matmul". Gemm is Y = alpha * A' * B' + beta * C,
where A' and B' are A and B, or their transposes.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from opcheck import numbers as xp
from opcheck.engine.axes import common_shape, stretches
from opcheck.engine.integers import marked_in_type
from opcheck.engine.operators import Formula, formulas_of_versions, operator, raise_unspecified
from opcheck.engine.readings import Ruling
from opcheck.engine.rulings import ZERO_TIMES_NO_NUMBER
from opcheck.errors import InvalidNode, reject
from opcheck.numbers import Array, Tensor

NAMES = """Gemm MatMul"""

#: Multiplies matrices, or stacks of them that broadcast: […, M, K] and […, K, N] to […, M, N].
Product: TypeAlias = Callable[[Tensor, Tensor], Tensor]
#: Makes Y of A', B', C or None, alpha and beta.
Combination: TypeAlias = Callable[[Tensor, Tensor, Tensor | None, float, float], Tensor]

SHAPE_OF_BROADCAST_C = Ruling(
    "shape-of-broadcast-c",
    'In versions 1 and 6 C "will be broadcasted to match the dimension requirement". The text does '
    "not state whether that is for other shapes than one element and a row.",
    ("stretched", "refused"),
)


# ── MatMul ────────────────────────────────────────────────────────────────────────────────────


def matrix_product(product: Product, A: Tensor, B: Tensor) -> Tensor:
    """Return `product` of two stacks of matrices, in the shape that numpy.matmul gives.

    A: […, M, K] or a row [K]; B: […, K, N] or a column [K]. The axis of 1 that a vector gets is
    taken away again, and the axes before the matrices broadcast. product: is called with matrices.
    A K of 0 gives zeros.

    Raises InvalidNode if A or B is a scalar, if their K differ, or if the stacks do not broadcast.
    """
    reject(A.ndim == 0 or B.ndim == 0, "a scalar is no matrix")
    a = xp.expand_dims(A, axis=0) if A.ndim == 1 else A
    b = xp.expand_dims(B, axis=1) if B.ndim == 1 else B
    reject(a.shape[-1] != b.shape[-2], f"A has rows of {a.shape[-1]}, B columns of {b.shape[-2]}")
    stack = common_shape(a.shape[:-2], b.shape[:-2])
    rows = () if A.ndim == 1 else (a.shape[-2],)
    columns = () if B.ndim == 1 else (b.shape[-1],)
    return xp.reshape(product(a, b), (*stack, *rows, *columns))


@formulas_of_versions(1, 9, 13)
def matmul(product: Product, A: Tensor, B: Tensor) -> Tensor:
    """Return Y of all versions, as numpy.matmul does: of matrices, vectors, or stacks of matrices.

    `product` multiplies matrices, to which vectors are made. A K of 0 gives zeros. Products that a
    type of integers does not hold may be anything. Raises InvalidNode for a scalar, where rows of A
    are not as long as columns of B, and for stacks that do not broadcast; NotSupported, while
    judging, if the type holds none of the products, and in graphs.
    """
    y: Tensor = marked_in_type(matrix_product(product, A, B), np.matmul, A, B)
    return y


MATMUL = operator("MatMul")
MATMUL.formula(build=matmul)(xp.matmul)


def first_for_all(x: Tensor) -> Tensor:
    """Return a stack, […, M, N], that holds its first matrix everywhere."""
    first = x[(slice(0, 1),) * (x.ndim - 2)]
    return xp.broadcast_to(first, x.shape)


@MATMUL.mutant("a's first matrix served for all of it", build=matmul)
def first_matrix_of_a(a: Tensor, b: Tensor) -> Tensor:
    """Mutant: each matrix of B is multiplied by the first of A."""
    return xp.matmul(first_for_all(a), b)


@MATMUL.mutant("b's first matrix served for all of it", build=matmul)
def first_matrix_of_b(a: Tensor, b: Tensor) -> Tensor:
    """Mutant: each matrix of A is multiplied by the first of B."""
    return xp.matmul(a, first_for_all(b))


# ── Gemm ──────────────────────────────────────────────────────────────────────────────────────


def transposed(x: Tensor, trans: int) -> Tensor:
    """Return a matrix, transposed "if transA is non-zero"; transB alike."""
    return xp.permute_dims(x, (1, 0)) if trans else x


def factors(A: Tensor, B: Tensor, transA: int, transB: int) -> tuple[Tensor, Tensor]:
    """Return A', [M, K], and B', [K, N].

    They are A and B, transposed where transA and transB are other than 0. Raises InvalidNode unless
    both have rank 2 and their K are equal.
    """
    reject(A.ndim != 2 or B.ndim != 2, f"A of rank {A.ndim} and B of rank {B.ndim}; allowed: 2")
    a = transposed(A, transA)
    b = transposed(B, transB)
    reject(a.shape[1] != b.shape[0], f"A' has rows of {a.shape[1]}, B' columns of {b.shape[0]}")
    return a, b


def check_stretches(C: Tensor | None, a: Tensor, b: Tensor) -> None:
    """Raise InvalidNode unless C is "unidirectional broadcastable to (M, N)", or None.

    a: A', [M, K]; b: B', [K, N].
    """
    if C is not None:
        stretches("C", C, np.broadcast_to(0, (a.shape[0], b.shape[1])))


def check_broadcast(C: Tensor, a: Tensor, b: Tensor, broadcast: int) -> None:
    """Raise InvalidNode unless C has the shape [M, N], or another that `broadcast` allows.

    a: A', [M, K]; b: B', [K, N]. If `broadcast` is not 0, one element of any rank up to 2 and a row
    [N] are allowed; other shapes that stretch to [M, N] are, or are refused: SHAPE_OF_BROADCAST_C.
    """
    check_stretches(C, a, b)
    shape = (a.shape[0], b.shape[1])
    if C.shape == shape:
        return
    stated = f"C of shape {list(C.shape)}"
    reject(not broadcast, f"{stated} without broadcast; allowed: {shape}")
    is_scalar_or_row = C.size == 1 or C.shape == shape[1:]
    if not is_scalar_or_row and SHAPE_OF_BROADCAST_C.reading() == "refused":
        raise InvalidNode(f"{stated}; allowed: one element, {shape[1:]} and {shape}")


def scaled(scale: float, x: Tensor) -> Tensor:
    """Return scale * x in the type of `x`; the caller checks that integers hold it.

    Of a scale of 0 and an infinity or NaN in `x`, the product has NaN, or is 0 everywhere:
    ZERO_TIMES_NO_NUMBER. Raises NotSupported for integers if the scale is not a whole number below
    2^31 in magnitude: the text does not define that product.
    """
    has_no_number = scale == 0 and not xp.isfinite(x).all()
    if has_no_number and ZERO_TIMES_NO_NUMBER.reading() == "left_out":
        return xp.zeros_like(x)
    if scale == 1:
        return x
    if x.dtype.kind not in "iu":
        return x * scale
    if scale % 1 or not abs(scale) < 1 << 31:
        raise_unspecified("how multiples become integers")
    return x * np.asarray(int(scale)).astype(x.dtype)


def whole_terms(a: Array, b: Array, C: Array | None, alpha: Array, beta: Array) -> Array:
    """Return alpha * A' * B' + beta * C in numbers that do not wrap: float64 or Python's integers.

    a: A', [M, K]; b: B', [K, N]; C: broadcasts to [M, N]; alpha and beta: scalars.
    """
    Y = alpha * np.matmul(a, b)
    return Y if C is None else Y + beta * C


def marked_terms(
    Y: Tensor, a: Tensor, b: Tensor, C: Tensor | None, alpha: float, beta: float
) -> Tensor:
    """Return Y, in which integers are marked as undefined that their type does not hold.

    Y: alpha * A' * B' + beta * C, computed in its type; floats are never marked. a, b: A' and B';
    alpha and beta: whole numbers, if Y has integers. Raises NotSupported, while judging, if all
    elements would be marked.
    """
    if a.dtype.kind not in "iu":
        return Y
    factors_of_terms = (np.asarray(int(scale)) for scale in (alpha, beta))
    marked: Tensor = marked_in_type(Y, whole_terms, a, b, C, *factors_of_terms)
    return marked


def terms_scaled(a: Tensor, b: Tensor, C: Tensor | None, alpha: float, beta: float) -> Tensor:
    """Return alpha * A' * B' + beta * C, as the text writes it; C None adds nothing.

    a: A', [M, K]; b: B', [K, N]; C: broadcasts to [M, N]. A factor of 0 makes NaN of infinity and
    NaN, or 0 of all: ZERO_TIMES_NO_NUMBER. Integers outside of their type may be anything. Raises
    NotSupported for integers times an alpha or a beta that is not whole, or not below 2^31; while
    judging, also if no integer of Y is in its type.
    """
    Y = scaled(alpha, xp.matmul(a, b))
    if C is not None:
        Y = Y + scaled(beta, C)
    return marked_terms(Y, a, b, C, alpha, beta)


def factors_scaled(a: Tensor, b: Tensor, C: Tensor | None, alpha: float, beta: float) -> Tensor:
    """Return (alpha * A') * B', added to beta * C product by product, as BLAS does.

    a: A', [M, K]; b: B', [K, N]; C: broadcasts to [M, N]; None adds nothing. A factor of 0 makes
    NaN of infinity and NaN, or 0 of all: ZERO_TIMES_NO_NUMBER. Integers outside of their type may
    be anything. Raises NotSupported for integers times an alpha or a beta that is not whole, or not
    below 2^31; while judging, also if no integer of Y is in its type.
    """
    if alpha == 0:
        # There is no product to add, and 0 times an infinite product is read as in the text's form.
        return terms_scaled(a, b, C, alpha, beta)
    addend = None if C is None else scaled(beta, C)
    Y = xp.bilinear(scaled(alpha, a), b, xp.plain.matmul, a.shape[1], addend)
    return marked_terms(Y, a, b, C, alpha, beta)


@formulas_of_versions(1, 6)
def gemm_with_broadcast(
    combination: Combination,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    *,
    alpha: float,
    beta: float,
    transA: int,
    transB: int,
    broadcast: int,
) -> Tensor:
    """Return Y = alpha * A' * B' + beta * C, [M, N], of the first versions.

    A' and B' are A and B, transposed if transA and transB are not 0. combination: computes Y.

    Raises InvalidNode unless A and B have rank 2 and fit each other, and C has the shape [M, N]; or
    with `broadcast` one that stretches to it, of which the less usual are ruled:
    SHAPE_OF_BROADCAST_C. Raises NotSupported for integers times an alpha or a beta that is not a
    whole number below 2^31; while judging, also if no integer of Y is in its type. An alpha or a
    beta of 0 makes NaN of infinity and NaN, or 0: ZERO_TIMES_NO_NUMBER.
    """
    a, b = factors(A, B, transA, transB)
    check_broadcast(C, a, b, broadcast)
    return combination(a, b, C, alpha, beta)


@formulas_of_versions(7, 9)
def gemm_with_c(
    combination: Combination,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    *,
    alpha: float,
    beta: float,
    transA: int,
    transB: int,
) -> Tensor:
    """Return Y = alpha * A' * B' + beta * C, [M, N], of the versions in which C is mandatory.

    A' and B' are A and B, transposed if transA and transB are not 0. combination: computes Y. An
    alpha or a beta of 0 makes NaN of infinity and NaN, or 0 of all: ZERO_TIMES_NO_NUMBER.

    Raises InvalidNode unless A and B have rank 2 and fit each other, and C broadcasts to [M, N].
    Raises NotSupported for integers times an alpha or a beta that is not whole, or not below 2^31;
    while judging, also if no integer of Y is in its type.
    """
    a, b = factors(A, B, transA, transB)
    check_stretches(C, a, b)
    return combination(a, b, C, alpha, beta)


@formulas_of_versions(11, 13)
def gemm_with_optional_c(
    combination: Combination,
    A: Tensor,
    B: Tensor,
    C: Tensor | None = None,
    *,
    alpha: float,
    beta: float,
    transA: int,
    transB: int,
) -> Tensor:
    """Return Y, [M, N], of the versions in which C may be left out: "as if C is a scalar 0".

    Y = alpha * A' * B' + beta * C, where A' and B' are A and B, transposed if transA and transB are
    not 0. combination: computes Y. An alpha or a beta of 0 makes NaN of infinity and NaN, or 0 of
    all: ZERO_TIMES_NO_NUMBER.

    Raises InvalidNode unless A and B have rank 2 and fit each other, and C broadcasts to [M, N].
    Raises NotSupported for integers times an alpha or a beta that is not whole, or not below 2^31;
    while judging, also if no integer of Y is in its type.
    """
    a, b = factors(A, B, transA, transB)
    check_stretches(C, a, b)
    return combination(a, b, C, alpha, beta)


def gemm(combination: Combination) -> Mapping[int, Formula]:
    """Return the formula of each version, by its first opset.

    `combination` makes Y of A', B', C or None, alpha and beta. The formulas raise InvalidNode for
    shapes that do not fit, and what `combination` raises.
    """
    return {
        **gemm_with_broadcast(combination),
        **gemm_with_c(combination),
        **gemm_with_optional_c(combination),
    }


GEMM = operator("Gemm")
GEMM.formula_and_alternatives(gemm, terms_scaled, factors_scaled)


@GEMM.mutant("alpha and beta were exchanged", build=gemm)
def alpha_and_beta_exchanged(
    a: Tensor, b: Tensor, C: Tensor | None, alpha: float, beta: float
) -> Tensor:
    """Mutant: beta * A' * B' + alpha * C.

    Raises NotSupported for integers times an alpha or a beta that is not whole, or not below 2^31;
    while judging, also if no integer of Y is in its type.
    """
    return terms_scaled(a, b, C, beta, alpha)


@GEMM.mutant("alpha multiplied C too", build=gemm)
def alpha_of_all(a: Tensor, b: Tensor, C: Tensor | None, alpha: float, beta: float) -> Tensor:
    """Mutant: alpha * (A' * B' + beta * C).

    Raises NotSupported for integers times an alpha or a beta that is not whole, or not below 2^31;
    while judging, also if no integer of Y is in its type.
    """
    return scaled(alpha, terms_scaled(a, b, C, 1, beta))


@GEMM.mutant("a vector C was a column where there are as many rows", build=gemm)
def vector_is_a_column(a: Tensor, b: Tensor, C: Tensor | None, alpha: float, beta: float) -> Tensor:
    """Mutant: a C of shape [M] has an element for each row of Y.

    Raises NotSupported for integers times an alpha or a beta that is not whole, or not below 2^31;
    while judging, also if no integer of Y is in its type.
    """
    if C is not None and C.shape == a.shape[:1]:
        C = xp.expand_dims(C, axis=1)
    return terms_scaled(a, b, C, alpha, beta)
