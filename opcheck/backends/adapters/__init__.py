"""One file a kind of backend, named like it; the third-party import stands inside `connect`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opcheck.backends.execute import message_of
from opcheck.backends.missing import missing
from opcheck.errors import BackendUnavailable, NotSupported, UsageError, did_you_mean

#: Options of every kind: they change how a backend is judged, not the backend.
DECLARED = ("accumulate", "refuses")


@dataclass(frozen=True)
class About:
    """A kind of backend in the words of `opcheck backends`."""

    summary: str
    #: The name of its package on PyPI, None without one; if it comes with the extra of that name.
    distribution: str | None = None
    extra: bool = False
    #: It has the option of this name.
    threads: bool = False
    #: The part of its times that is not its own work.
    included: str = ""
    #: The source of what it declares.
    declares: str = "its own method"

    @property
    def install(self) -> str:
        """The command that installs it, "" where there is none."""
        package = f"'opcheck[{self.distribution}]'" if self.extra else self.distribution
        return f"pip install {package}" if package else ""


@contextmanager
def importing(about: About, kind: str) -> Iterator[None]:
    """Around an import: raises BackendUnavailable for whatever goes wrong in it."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"backend {kind!r} is not installed: {error}"
        raise BackendUnavailable(message, f"install it: {about.install}") from error
    except Exception as error:
        message = f"backend {kind!r} is installed but broken: {type(error).__name__}: {error}"
        raise BackendUnavailable(message, f"reinstall it: {about.install}") from error


@contextmanager
def declining(*kinds: type[BaseException]) -> Iterator[None]:
    """Around a call of a backend: raise NotSupported if its error names what is missing."""
    try:
        yield
    except kinds as error:
        if sentence := missing(message_of(error)):
            raise NotSupported(sentence) from error
        raise


def take(
    kind: str,
    options: Mapping[str, str],
    known: Mapping[str, Callable[[str], Any]],
    detail: str | None = None,
) -> dict[str, Any]:
    """Return the options of an address, each read by its function in `known`.

    Raises UsageError for an unknown option, for a value that its function refuses with ValueError,
    and for a `detail`, passed by kinds that have none.
    """
    if detail:
        raise UsageError(f"backend {kind!r} takes no detail, got {detail!r}")
    values = {}
    for name, text in options.items():
        if name not in known:
            offer = ", ".join(known) or f"no options but {' and '.join(DECLARED)}"
            hint = did_you_mean(name, [*known, *DECLARED]) or f"{kind} has {offer}"
            raise UsageError(f"backend {kind!r} has no option {name!r}", hint)
        try:
            values[name] = known[name](text)
        except ValueError as error:
            raise UsageError(f"backend {kind!r}: {name}={text}: {error}") from None
    return values


def threads(text: str) -> int:
    """Return a number of threads, from 1."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise ValueError("threads is a whole number from 1")
    return int(text)
