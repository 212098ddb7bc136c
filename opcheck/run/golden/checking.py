"""Whether a golden folder is as it was written, and its answers are right; everything at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path

from opcheck.errors import UsageError
from opcheck.run.golden.contents import Job, Looked, look
from opcheck.run.golden.manifest import (
    MANIFEST,
    SUMS,
    Manifest,
    NotReadable,
    TestFields,
    read_manifest,
    sums,
)
from opcheck.run.parallel import in_parallel

#: No folder with more entries is looked at: it may come from a stranger.
_MOST = 1 << 21
#: A file lies no deeper: kind, test, data set, file.
_DEPTH = 4
#: Bytes of SHA256SUMS for each file, at most.
_LINE = 1 << 10


@dataclass(frozen=True, order=True)
class Finding:
    """What is wrong with one file, or folder, by its path in the golden folder."""

    path: str
    message: str


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


@dataclass(frozen=True)
class _Listing:
    """What lies in a folder: plain files, folders, and anything else by what it is."""

    files: frozenset[str]
    folders: frozenset[str]
    others: dict[str, str]


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
    listing = _listed(folder)
    strange = [Finding(path, told) for path, told in listing.others.items()]
    strange += _alike(listing)
    try:
        manifest, data = read_manifest(folder)
    except FileNotFoundError:
        return Checked((*strange, Finding(MANIFEST, "is missing: nothing else was checked")))
    except NotReadable as error:
        if SUMS not in listing.files:
            raise UsageError(f"{folder}/{MANIFEST} {error}") from None
        told = f"{error}; nothing else was checked, but sha256sum -c {SUMS} can do so"
        return Checked((*strange, Finding(MANIFEST, told)))
    strange += _contradictions(manifest)
    strange += _sums(folder, manifest, sha256(data).hexdigest(), listing)
    listed = {f"{test.folder}/{name}" for test in _tests(manifest) for name in test.files}
    strange += _missing_and_extra(listed, listing)
    jobs = [_job(folder, manifest, id, test, listing) for id, test in _named_tests(manifest)]
    looked = [*counted(in_parallel(look, jobs, processes))]
    findings = sorted([*strange, *_findings(looked, manifest)])
    return Checked(
        tuple(findings),
        len(manifest.cases),
        len(jobs),
        sum(one.judged for one in looked),
        len(listed),
    )


def _tests(manifest: Manifest) -> list[TestFields]:
    return [test for _, test in _named_tests(manifest)]


def _named_tests(manifest: Manifest) -> list[tuple[str, TestFields]]:
    return [(case.id, test) for case in manifest.cases for test in case.tests]


def _job(folder: Path, manifest: Manifest, id: str, test: TestFields, listing: _Listing) -> Job:
    names = {*test.files}
    there = frozenset(name for name in names if f"{test.folder}/{name}" in listing.files)
    return Job(folder, id, test, manifest.npz, there)


def _listed(folder: Path) -> _Listing:
    """What lies in a folder; no link is followed."""
    files, folders, others = set(), set(), {}
    left = [(folder, "", 1)]
    while left:
        where, prefix, depth = left.pop()
        try:
            with os.scandir(where) as entries:
                found = list(islice(entries, _MOST))
        except OSError as error:
            others[prefix.rstrip("/")] = f"cannot be read: {error.strerror}"
            continue
        for entry in found:
            path = prefix + entry.name
            if entry.is_symlink():
                others[path] = "is a link: nothing is read through it"
            elif entry.is_file(follow_symlinks=False):
                files.add(path)
            elif not entry.is_dir(follow_symlinks=False):
                others[path] = "is no plain file"
            elif depth >= _DEPTH:
                others[path] = "is a folder where none belongs"
            else:
                folders.add(path)
                left.append((Path(entry.path), f"{path}/", depth + 1))
        if len(files) + len(folders) + len(others) >= _MOST:
            raise UsageError(f"{folder} holds more than {_MOST:,} files")
    return _Listing(frozenset(files), frozenset(folders), others)


def _alike(listing: _Listing) -> list[Finding]:
    """Names that some file systems do not tell apart."""
    first: dict[str, str] = {}
    found = []
    for path in sorted({*listing.files, *listing.folders, *listing.others}):
        other = first.setdefault(path.casefold(), path)
        if other != path:
            found.append(Finding(path, f"differs from {other} only by the case of its letters"))
    return found


def _contradictions(manifest: Manifest) -> list[Finding]:
    """What of a manifest contradicts itself."""
    found = []
    ids = Counter(case.id.casefold() for case in manifest.cases)
    folders = Counter(test.folder.casefold() for test in _tests(manifest))
    for what, names in (("cases", ids), ("tests", folders)):
        for name, count in names.items():
            if count > 1:
                found.append(Finding(MANIFEST, f"{count} {what} are called {name}"))
    for case in manifest.cases:
        if not case.tests:
            found.append(Finding(MANIFEST, f"{case.id} has no test"))
        for test in case.tests:
            kind = "rejected" if test.refused and case.rule != "open" else case.rule
            if not test.folder.startswith(f"{kind}/"):
                found.append(Finding(test.folder, f"belongs into {kind}/, by its rule"))
            if not test.data_sets:
                found.append(Finding(test.folder, "has no data set"))
    return found


def _sums(folder: Path, manifest: Manifest, digest: str, listing: _Listing) -> list[Finding]:
    """Where SHA256SUMS, which also vouches for the manifest, says something else."""
    if SUMS in listing.others:
        return []
    if SUMS not in listing.files:
        return [Finding(SUMS, "is missing")]
    want = sums(manifest, digest)
    path = folder / SUMS
    try:
        if path.stat().st_size > len(want) + _LINE:
            return [Finding(SUMS, f"has {path.stat().st_size:,} bytes, not {len(want):,}")]
        got = path.read_bytes()
    except OSError as error:
        return [Finding(SUMS, f"cannot be read: {error.strerror}")]
    if got == want:
        return []
    line = f"{digest}  {MANIFEST}".encode()
    if line not in got.split(b"\n"):
        return [Finding(MANIFEST, f"is not the one that {SUMS} vouches for")]
    there = zip(got.split(b"\n"), want.split(b"\n"), strict=False)
    number = next((n for n, (a, b) in enumerate(there, 1) if a != b), None)
    where = f"in line {number}" if number else "at its end"
    return [Finding(SUMS, f"says something else than {MANIFEST}, first {where}")]


def _missing_and_extra(listed: set[str], listing: _Listing) -> list[Finding]:
    """Files that are not there, and what is there that the manifest does not list."""
    found = [Finding(path, "is missing") for path in listed - listing.files - {*listing.others}]
    known = {parent for path in listed for parent in _parents(path)}
    for path in sorted(listing.folders - known):
        if not any(parent in listing.folders - known for parent in _parents(path)):
            found.append(Finding(path, "is in no test"))
    for path in listing.files - listed - {MANIFEST, SUMS}:
        if all(parent in known for parent in _parents(path)):
            found.append(Finding(path, f"is not in the {MANIFEST}"))
    return found


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _findings(looked: Iterable[Looked], manifest: Manifest) -> list[Finding]:
    """What the tests' own checks found; a file in another's place is told as that."""
    wrong: dict[str, list[str]] = {}
    changed: dict[str, str] = {}
    for one in looked:
        wrong |= one.wrong
        changed |= one.changed
    places: dict[str, str] = {}
    if changed:
        for test in _tests(manifest):
            for name, sha in test.files.items():
                places.setdefault(sha, f"{test.folder}/{name}")
    found = []
    for path, messages in wrong.items():
        here = places.get(changed.get(path, ""))
        told = [*messages, f"it is what was written as {here}"] if here else messages
        found.append(Finding(path, "; ".join(told)))
    return found
