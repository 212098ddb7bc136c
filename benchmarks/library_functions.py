"""The largest errors of library functions in NumPy and released engines, in ULP.

    python benchmarks/library_functions.py [-v]

It prints the tables of docs/library-functions.md, which explains them; `-v` adds the argument of
each maximum. Functions of float64 stand for the exact ones: they err by less than 1e-7 ULP of
float32, also next to multiples of π/2, where mpmath has confirmed that.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from opcheck import backends, opset
from opcheck.dtypes import DTYPES, DType, limits
from opcheck.errors import BackendUnavailable, NotSupported
from opcheck.model import OutputSpec, Task, TensorType
from opcheck.numbers.arithmetic import FLOAT32, LIBRARY, PLAIN

Run: TypeAlias = Callable[..., Any]
#: What OpenCL's full profile grants in float32 and float16, and what WebNN's tests do.
PUBLISHED = {
    "acos": "4 2 – –",
    "acosh": "4 2 – –",
    "asin": "4 2 – –",
    "asinh": "4 2 – –",
    "atan": "5 2 – –",
    "atanh": "5 2 – –",
    "cos": "4 2 2⁻¹⁰ 2⁻⁹",
    "cosh": "4 2 – –",
    "erf": "16 4 2⁻¹⁰ 2⁻⁹",
    "exp": "3 2 32 1",
    "expm1": "3 2 – –",
    "log": "3 2 2⁻¹⁰ 2⁻¹⁰",
    "log1p": "2 2 – –",
    "pow": "16 4 32 2",
    "sin": "4 2 2⁻¹⁰ 2⁻⁹",
    "sinh": "4 2 – –",
    "sqrt": "3 ½ 1 1",
    "tan": "5 2 2⁻¹⁰ 2⁻⁹",
    "tanh": "5 2 16 16",
}
#: Exponents of pow: scalars, some of which engines have methods of their own for.
EXPONENTS = (0.5, 2.0, 3.0, -1.0, -1.75, 10.25)
#: Ends of domains, and arguments near which methods change or a result is near 0.
POINTS = (0.35, 0.5, 0.6, 0.7, 1, 1.4, 2, 4, 9, 87.3, 88.7, *np.arange(1, 50) * (np.pi / 2))


def budget(name: str) -> str:
    """The budget as docs/library-functions.md states it; two unit roundoffs make its unit."""
    accuracy = LIBRARY.get(name, PLAIN)
    size = {"exp": "\\|x\\|", "pow": "\\|p·ln x\\|"}.get(name, "")
    share = f" + {accuracy.argument / 2:g}·{size}".replace(" 1·", " ") if accuracy.argument else ""
    return "½" if name == "sqrt" else f"{accuracy.ulp:g}{share}"


def numpy(name: str, *inputs: Any) -> Any:
    """NumPy's answer, and in bfloat16 that of ml_dtypes."""
    if not hasattr(np, name):
        raise NotSupported(name)
    return getattr(np, name)(*inputs)


def torch(name: str, *inputs: Any) -> Any:
    """PyTorch's answer, exchanged as bits, as bfloat16 must be."""
    import torch as library

    dtype, bits = inputs[0].dtype, f"int{8 * inputs[0].itemsize}"
    given = [library.from_numpy(x.view(bits)).view(getattr(library, dtype.name)) for x in inputs]
    return getattr(library, name)(*given).view(getattr(library, bits)).numpy().view(dtype)


def onnx(address: str) -> Run:
    """The answer of an engine to a model of one node."""
    backend = backends.connect(address)

    def run(name: str, *inputs: Any) -> Any:
        dtype = DTYPES[inputs[0].dtype.name]
        schema = opset.describe("", name.capitalize(), 22)
        if schema is None:
            raise NotSupported("ONNX has no such operator")
        types = tuple(TensorType(f"x{n}", dtype, x.shape) for n, x in enumerate(inputs))
        slots, outputs = tuple(x.name for x in types), (OutputSpec("y", dtype),)
        task = Task(name, schema.op, 22, {}, slots, types, {}, outputs)
        return backend.prepare(task).run(inputs)[0]

    return run


def engines() -> Iterator[tuple[str, Run]]:
    """NumPy, and the engines that are installed, by name."""
    yield f"NumPy {np.__version__}", numpy
    for address in ("onnxruntime", "torch", "openvino?precision=f32"):
        try:
            info = backends.connect(address).info
        except BackendUnavailable:
            continue
        yield f"{info.kind} {info.version}", torch if address == "torch" else onnx(address)


@cache
def arguments(dtype: DType) -> Any:
    """All numbers of a 16-bit type; of float32 a grid of all, and more where it matters."""
    if dtype.is_half:
        return np.arange(1 << 16).astype(np.uint16).view(dtype.numpy)
    rng, reach = np.random.default_rng(0), np.arange(-2000, 2000, dtype=np.int32)
    grid = np.arange(0, 1 << 32, 8191).astype(np.uint32).view(np.float32)
    near = (np.array(POINTS, np.float32).view(np.int32)[:, None] + reach).view(np.float32).ravel()
    inside = [rng.uniform(-high, high, 300_000).astype(np.float32) for high in (1, 10, 100)]
    return np.concatenate([grid, near, -near, *inside])


def errors(name: str, dtype: DType, run: Run, *p: Any) -> tuple[Any, Any, Any]:
    """Arguments, errors in ULP, and True where these exceed the budget; `p` is pow's exponent."""
    x = arguments(dtype)
    got, wide = run(name, x, *p), x.astype(np.float64)
    function = special.erf if name == "erf" else getattr(np, name)
    exact = function(wide, *(one.astype(np.float64) for one in p))
    size, top = np.abs(exact), limits(dtype)[1]
    normal = 2.0 ** (dtype.min_exponent + dtype.precision - 1)
    # Below this, flushing a subnormal, which is allowed in all types but float16, counts for more.
    least = normal if dtype.name == "float16" else normal * 2**22
    counted = (np.abs(wide) <= top) & ((np.abs(wide) >= normal) | (wide == 0))
    counted &= (size >= least) & (size <= top)
    wide, size, got, exact = (part[counted] for part in (wide, size, got, exact))
    ulp = np.ldexp(1.0, np.frexp(size)[1] - dtype.precision)
    off = np.nan_to_num(np.abs(got.astype(np.float64) - exact) / ulp, nan=np.inf, posinf=np.inf)
    accuracy, reduced = LIBRARY.get(name, PLAIN), np.abs(p[0] * np.log(wide) if p else wide)
    # In unit roundoffs, one of which is for the last rounding: of that, half an ULP is exact.
    k = 0.0 if name == "sqrt" else 2 * accuracy.ulp - 1 + accuracy.argument * reduced
    return wide, off, off > (k * FLOAT32.u * size / ulp + 0.5) * (1 + 1e-6)


def cell(name: str, dtype: DType, run: Run, verbose: bool) -> str:
    """The largest error, in bold if any is beyond the budget; ∞ for a finite result lost."""
    worst, place, is_beyond, lost = 0.0, "", False, ""
    for p in [[np.array(p, dtype.numpy)] for p in EXPONENTS] if name == "pow" else [[]]:
        try:
            x, off, beyond = errors(name, dtype, run, *p)
        except NotSupported:
            return "–"
        is_beyond |= bool(beyond.any())
        if np.isinf(off).any():
            lost = ", ∞" + f" at {x[off.argmax()]:.9g}" * verbose
        off[np.isinf(off)] = 0
        if off.max() > worst:
            worst, place = (
                off.max(),
                " at " + "^".join(f"{one:.9g}" for one in (x[off.argmax()], *p)),
            )
    text = f"{worst:.2f}" if worst < 100 else f"{float(f'{worst:.2g}'):,.0f}"
    text += place * verbose + lost
    return f"**{text}**" if is_beyond else text


def main() -> None:
    """Print both tables in Markdown."""
    np.seterr(all="ignore")
    runs, verbose = dict(engines()), "-v" in sys.argv[1:]
    for column, names in enumerate((["float32"], ["float16", "bfloat16"])):
        head = ["function", *["opcheck"][column:], "OpenCL", "WebNN", *runs]
        print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
        for name, published in PUBLISHED.items():
            row = [f"`{name}`", *[budget(name)][column:], *published.split()[column::2]]
            for run in runs.values():
                cells = [cell(name, DTYPES[one], run, verbose) for one in names]
                row.append(" / ".join(dict.fromkeys(cells)))
            print(f"| {' | '.join(row)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
