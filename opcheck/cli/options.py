"""What several commands share: the options that select cases, and the way out."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from opcheck.cli import interrupt
from opcheck.errors import Exit, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opcheck.model import Case


class Seconds(click.FloatRange):
    """How long something may take: above 0, and an end to it."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """As click does, for which NaN and infinity lie in a range."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{seconds} is no number of seconds.", param, ctx)
        return seconds


class Share(click.FloatRange):
    """A part of something, as a percentage (5%) or a number (0.05); at most 1000 %."""

    def __init__(self) -> None:
        super().__init__(min=0, max=10)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """As a number."""
        text = str(value).strip()
        plain: Any = text.removesuffix("%")
        number = click.FLOAT.convert(plain, param, ctx)
        share = float(super().convert(number / (100 if text.endswith("%") else 1), param, ctx))
        if math.isnan(share):
            self.fail(f"{text} is no share.", param, ctx)
        return share


_JOBS = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes a backend.",
)
_BACKENDS = (
    click.option(
        "-b", "--backend", "addresses", multiple=True, metavar="ADDRESS", help="Repeatable."
    ),
    click.option(
        "--timeout",
        type=Seconds(),
        metavar="SECONDS",
        help="How long a backend may take for a case that does not ask for more.  [default: as the"
        " backend's profile says, or 30]",
    ),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="How much memory a process of a backend may take, such as 2GiB; opcheck's copies of"
        " the case's data are part of it.  [default: as the"
        " backend's profile says, or any]",
    ),
)

Function = TypeVar("Function", bound=Callable[..., Any])

_SELECTION = (
    click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]..."),
    click.option("--case", "ids", multiple=True, metavar="ID", help="Exactly this case."),
    click.option("-k", "keywords", default="", metavar="EXPR", help="Words, and, or, not, ( )."),
    click.option("--op", "ops", multiple=True, metavar="NAME", help="Only this operator."),
    click.option("--opset", "opsets", multiple=True, type=int, help="Only this opset."),
    click.option("--dtype", "dtypes", multiple=True, help="Only this element type."),
    click.option(
        "--level",
        type=click.Choice(["smoke", "core", "deep"], case_sensitive=False),
        default="core",
        show_default=True,
        help="How much: smoke is part of core, core of deep.",
    ),
)


def selection_options(function: Function) -> Function:
    """PATH, --case, -k, --op, --opset, --dtype, --level."""
    for option in reversed(_SELECTION):
        function = option(function)
    return function


def backend_options(function: Function) -> Function:
    """-b, --timeout, --memory-limit."""
    for option in reversed(_BACKENDS):
        function = option(function)
    return function


def worker_options(function: Function) -> Function:
    """-b, -j, --timeout, --memory-limit."""
    address, *rest = _BACKENDS
    for option in reversed((address, _JOBS, *rest)):
        function = option(function)
    return function


def chosen_cases(
    paths: Sequence[Path],
    ids: tuple[str, ...],
    keywords: str,
    ops: tuple[str, ...],
    opsets: tuple[int, ...],
    dtypes: tuple[str, ...],
    level: Any,
    *,
    bench: bool = False,
) -> tuple[tuple[Case, ...], str]:
    """The selected cases, or of `bench` those that are to be timed, and the selection in words.

    Raises UsageError for a selection that names what does not exist.
    """
    from opcheck.suite import load, load_bench

    cases = load_bench(paths) if bench else load(paths)
    return chosen_of(cases, paths, ids, keywords, ops, opsets, dtypes, level)


def chosen_of(
    cases: tuple[Case, ...],
    paths: Sequence[Path],
    ids: tuple[str, ...],
    keywords: str,
    ops: tuple[str, ...],
    opsets: tuple[int, ...],
    dtypes: tuple[str, ...],
    level: Any,
) -> tuple[tuple[Case, ...], str]:
    """Of `cases`, which were read from `paths`, those that are selected, as `chosen_cases` does."""
    from opcheck.dtypes import DTYPES
    from opcheck.suite import Selection, select

    for dtype in dtypes:
        if dtype not in DTYPES:
            raise UsageError(f"unknown dtype {dtype!r}", _completions(dtype, DTYPES))
    selection = Selection(ids, keywords, ops, opsets, dtypes, level)
    interrupt.safe_place()
    # A mistyped one would go unnoticed beside one that is not.
    here = {id for case in cases for id in (case.id, case.sweep) if id}
    names = {case.op.name.lower(): case.op.name for case in cases}
    for wanted in ids:
        if wanted not in here:
            raise UsageError(f"no case {wanted!r}", _completions(wanted, here))
    for op in ops:
        if op.lower() not in names:
            raise UsageError(f"no case of operator {op!r}", _completions(op, names.values()))
    asked = sorted({case.opset for case in cases})
    for opset in opsets:
        if opset not in asked:
            raise UsageError(f"no case at opset {opset}", f"opsets: {', '.join(map(str, asked))}")
    return select(cases, selection), str(selection)


def check_folders(paths: Mapping[str, Path | None]) -> None:
    """Raise UsageError for files, by the option that names each, that are in no folder."""
    for option, path in paths.items():
        if path and not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {path.parent}")


def leave(code: Exit) -> NoReturn:
    """End the program with `code`."""
    sys.stdout.flush()
    raise SystemExit(int(code))


def _completions(word: str, known: Iterable[str]) -> str | None:
    """What begins with `word`, or else is like it."""
    names = sorted(known)
    longer = [name for name in names if name.startswith(word)]
    if not longer:
        return did_you_mean(word, names)
    more = f" and {len(longer) - 3} more" if len(longer) > 3 else ""
    return f"did you mean {', '.join(map(repr, longer[:3]))}{more}?"
