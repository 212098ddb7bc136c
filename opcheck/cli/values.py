"""Values that a shell may complete: operators, backends, cases, element types and reports.

Operators and backends come from the heads of files and the names of modules, without numpy: a
shell asks at every press of the tab key. A function takes the text that is typed so far, and
returns the values that it may become; what cannot be read has no values.
"""

import pkgutil
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from click.core import Context, Parameter
from click.shell_completion import CompletionItem

import opcheck
from opcheck import reading
from opcheck.errors import OpcheckError

#: The group of entry points by which packages offer backends.
_ENTRY_POINTS = "opcheck.backends"
#: Kinds of backends that are nothing without a detail, such as `py:pkg.mod:Class`.
NEED_DETAIL = frozenset({"cmd", "onnx", "py", "saved"})


def unfinished(value: str) -> "CompletionItem[str]":
    """Return a value that goes on: the shell puts no space after it."""
    return CompletionItem(value, goes_on=True)


def operators(_ctx: Context, _param: Parameter, incomplete: str) -> list[str]:
    """Return operators of the shipped suites, after a comma too."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    names = [name for name in _begin_with(last, reading.shipped_operators()) if name not in named]
    return [f"{before}{comma}{name}" for name in names]


def backends(ctx: Context, _param: Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Return kinds of backends, built in or offered by packages, and the profiles here."""
    from importlib import metadata

    folder = Path(opcheck.__file__).parent / "backends" / "adapters"
    kinds = {module.name for module in pkgutil.iter_modules([str(folder)])}
    kinds |= metadata.entry_points(group=_ENTRY_POINTS).names
    names = sorted({*kinds, *_profiles(ctx.params.get("config"))})
    return [
        unfinished(f"{name}:") if name in NEED_DETAIL else CompletionItem(name)
        for name in _begin_with(incomplete, names)
    ]


def _profiles(config: Path | None) -> list[str]:
    """Return the names of the profiles in a settings file, or in the nearest from here upwards."""
    for path in [config] if config else _settings_files():
        with suppress(OSError, ValueError):  # not there, not UTF-8, or not TOML
            table = tomllib.loads(path.read_text("utf-8"))
            if path.name == "pyproject.toml":
                table = table.get("tool", {}).get("opcheck", {})
            if table:
                return [*table.get("backends", {})]
    return []


def _settings_files() -> Iterator[Path]:
    """Yield the places of a settings file, the nearest first."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        yield folder / "opcheck.toml"
        yield folder / "pyproject.toml"


def cases(ctx: Context, _param: Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Return ids of cases: of the files on the command line, or of one operator's shipped ones.

    Without files, an id begins with an operator, which is completed first.
    """
    # click leaves paths in `args` where the option that is being completed has no value yet.
    paths = [*(ctx.params.get("paths") or ()), *map(Path, ctx.args)]
    operator, slash, _ = incomplete.partition("/")
    if not paths and not slash:
        names = _begin_with(operator, reading.shipped_operators())
        return [unfinished(f"{name}/") for name in names]
    ids: list[str] = []
    with suppress(OpcheckError, OSError):
        ids = _ids(paths, operator, is_bench=ctx.command.name == "bench")
    return [CompletionItem(id) for id in _begin_with(incomplete, ids)]


def _ids(paths: list[Path], operator: str, *, is_bench: bool) -> list[str]:
    """Return the ids of the cases in files, or of the shipped ones of an operator.

    Args:
        paths: The files; none for the shipped ones.
        operator: The operator, which does not count for files.
        is_bench: True for the cases that are timed.

    Raises CaseFileError and UsageError for files that cannot be read.
    """
    from opcheck.suite import Selection, load_all, load_bench

    if is_bench:
        return [case.id for case in load_bench(paths, [operator])]
    selection = Selection() if paths else Selection(ops=(operator,), level="deep")
    return [case.id for case in load_all(paths, selection=selection)]


def dtypes(_ctx: Context, _param: Parameter, incomplete: str) -> list[str]:
    """Return element types."""
    from opcheck.dtypes import DTYPES

    return _begin_with(incomplete, DTYPES)


def reports(incomplete: str, formats: Iterable[str]) -> "list[CompletionItem[str]]":
    """Return the formats of --report, of these; after `FORMAT=` a path."""
    form, equals, _ = incomplete.partition("=")
    if equals:
        return [CompletionItem(incomplete, type="file")]
    return [unfinished(f"{name}=") for name in _begin_with(form, formats)]


def _begin_with(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with a text, in upper or lower case."""
    start = text.lower()
    return [name for name in names if name.lower().startswith(start)]
