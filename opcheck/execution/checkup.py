"""What `opcheck doctor` looks at: machine, libraries and settings, and what looks wrong."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from opcheck import interrupt, own_memory
from opcheck.backends.address import nearest_settings
from opcheck.backends.offers import Offer
from opcheck.backends.trust import UntrustedCode, is_accepted
from opcheck.errors import OpcheckError, plural
from opcheck.execution import golden
from opcheck.execution.workers import environment, machine
from opcheck.machine import LOCALE, has_locale, look, remarks
from opcheck.reading import Problems
from opcheck.suite import cache

_GIB = 2**30
#: Less memory than this for opcheck's own processes makes large cases *not judged*.
_LEAST_MEMORY = 2 * _GIB


@dataclass(frozen=True)
class Checkup:
    """What is here, as pairs of a name and a text, and what looks wrong, a sentence each."""

    facts: tuple[tuple[str, str], ...]
    wrong: tuple[str, ...]


def checkup(offers: Sequence[Offer], problems: Sequence[OpcheckError]) -> Checkup:
    """Look at the machine and at the settings of the working directory.

    Nothing is raised for what is wrong: `wrong` has it.

    Args:
        offers: Backends that were tried.
        problems: Errors of settings and of installed packages that offer backends.
    """
    return Checkup(tuple(_facts()), tuple(_wrong(offers, problems)))


def _facts() -> Iterator[tuple[str, str]]:
    """Yield pairs of a name and a text: versions, machine, cache of cases, settings file."""
    about = environment()
    yield "opcheck", about.opcheck
    yield "python", f"{about.python} on {about.platform}"
    yield "packages", ", ".join(f"{name} {version}" for name, version in about.packages.items())
    here = machine()
    yield "processor", here.processor or "unknown"
    yield "blas", _blas()
    yield "memory", f"{own_memory.available() / _GIB:.1f} GiB"
    yield from look().items()
    yield "load", f"{here.load:g} of {plural(here.cores, 'processor')}"
    yield "cache", str(cache.folder_of_user() or "none: there is no home folder")
    yield "settings", _settings()


def _blas() -> str:
    """Return the library that NumPy multiplies matrices with, and its version."""
    blas = np.show_config("dicts")["Build Dependencies"].get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _settings() -> str:
    """Return the path of the opcheck.toml in force, and if its code is accepted, in words.

    Nothing is raised: a file that cannot be read, or none, is said in the text.
    """
    problems = Problems()
    nearest = nearest_settings(Path.cwd(), problems)
    if problems:
        return "cannot be read"
    if nearest is None:
        return "none: no opcheck.toml here or above"
    _, file = nearest
    return f"{file.path}, {'accepted' if is_accepted(file) else 'whose code is not accepted'}"


def _wrong(offers: Sequence[Offer], problems: Sequence[OpcheckError]) -> Iterator[str]:
    """Yield a sentence for each thing that changes verdicts or timings, or cannot be used.

    They are about the locale and other properties of the machine that change answers, its
    arithmetic, memory below 2 GiB, other programs at work, a cache that cannot be written, backends
    in `offers` that were tried in vain, and last `problems`, the errors of settings and packages.
    """
    kinds = {offer.profile.address.kind for offer in offers if offer.info}
    yield from remarks(kinds, {"StringNormalizer"})
    if "onnxruntime" not in kinds and not has_locale():
        yield f"no locale {LOCALE} here: some engines change the case of texts by it"
    try:
        golden.require_sound_arithmetic()
    except OpcheckError as error:
        yield str(error)
    if own_memory.available() < _LEAST_MEMORY:
        yield f"less than {_LEAST_MEMORY // _GIB} GiB of memory: large cases are not judged"
    if interrupt.load() > (os.cpu_count() or 1):
        yield "other programs keep all processors busy: timings of `opcheck bench` are unclear"
    folder = cache.folder_of_user()
    if folder and not _is_writable(folder):
        yield f"{folder} cannot be written: shipped cases are read anew each time"
    for offer in offers:
        if offer.state == "unusable" and offer.error:
            # One whose code nobody accepted was not tried: a run that names it may well work.
            is_tried = not isinstance(offer.error, UntrustedCode)
            state = "cannot be used" if is_tried else "was not tried"
            yield f"backend {offer.name} {state}: {'; '.join(_stripped(offer.error))}"
    for problem in problems:
        yield "; ".join(_stripped(problem))


def _stripped(error: OpcheckError) -> list[str]:
    """Return the lines of an error without the blanks around them."""
    return [line.strip() for line in error.lines()]


def _is_writable(folder: Path) -> bool:
    """Return True if files can be made in a folder, or in the nearest one above that is there."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    return os.access(place, os.W_OK)
