"""Whether a golden folder is as it was written, and its answers are right; everything at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from opcheck.errors import UsageError
from opcheck.run.golden.contents import Job, Looked, look
from opcheck.run.parallel import in_parallel
from opcheck.suite.golden_files import (
    Finding,
    files_there,
    list_files,
    strange,
    tests_of,
    unusual,
)
from opcheck.suite.golden_manifest import MANIFEST, SUMS, Manifest, NotReadable, read_manifest


@dataclass(frozen=True)
class Checked:
    """What was looked at, and everything that is wrong.

    `judged` counts the data sets that oracles were asked about.
    """

    findings: tuple[Finding, ...]
    cases: int = 0
    tests: int = 0
    judged: int = 0
    files: int = 0


Counted = Callable[[Iterable[Looked]], Iterable[Looked]]


def check(folder: Path, processes: int = 1, counted: Counted = iter) -> Checked:
    """Everything that is wrong with a golden folder; it may come from a stranger.

    Nothing outside it is read. `counted` hands on each test as it is done.

    Raises UsageError for what is no golden folder.
    """
    try:
        there = {entry.name for entry in os.scandir(folder)} & {MANIFEST, SUMS}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None
    if not there:
        told = f"{folder} is no golden folder: it holds no {MANIFEST}"
        raise UsageError(told, "opcheck golden write makes one")
    listing = list_files(folder)
    try:
        manifest, data = read_manifest(folder)
    except FileNotFoundError:
        missing = Finding(MANIFEST, "is missing: nothing else was checked")
        return Checked((*unusual(listing), missing))
    except NotReadable as error:
        if SUMS not in listing.files:
            raise UsageError(f"{folder}/{MANIFEST} {error}") from None
        told = f"{error}; nothing else was checked, but sha256sum -c {SUMS} can do so"
        return Checked((*unusual(listing), Finding(MANIFEST, told)))
    tests = tests_of(manifest)
    jobs = [Job(folder, id, test, manifest.npz, files_there(test, listing)) for id, test in tests]
    looked = [*counted(in_parallel(look, jobs, processes))]
    findings = [*strange(folder, listing, manifest, data), *_findings(looked, manifest)]
    return Checked(
        tuple(sorted(findings)),
        len(manifest.cases),
        len(jobs),
        sum(one.judged for one in looked),
        len({f"{test.folder}/{name}" for _, test in tests for name in test.files}),
    )


def _findings(looked: Iterable[Looked], manifest: Manifest) -> list[Finding]:
    """What the tests' own checks found; a file in another's place is told as that."""
    wrong: dict[str, list[str]] = {}
    changed: dict[str, str] = {}
    for one in looked:
        wrong |= one.wrong
        changed |= one.changed
    places: dict[str, str] = {}
    if changed:
        for _, test in tests_of(manifest):
            for name, sha in test.files.items():
                places.setdefault(sha, f"{test.folder}/{name}")
    found = []
    for path, messages in wrong.items():
        here = places.get(changed.get(path, ""))
        told = [*messages, f"it is what was written as {here}"] if here else messages
        found.append(Finding(path, "; ".join(told)))
    return found
