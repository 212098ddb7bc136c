"""Merge stored runs of one suite, and find the results that a resumed run can reuse."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from opcheck.analysis.status import status
from opcheck.errors import UsageError, few
from opcheck.model import BackendInfo, Ending, Environment, Header, Record, Run, Verdict
from opcheck.reading import quoted

#: Runs that began more hours apart are hardly parts of one; two nightly runs lie further apart.
APART = 12.0
#: The most results named that occur in two runs.
_NAMED = 3
#: Name of the resumed run in messages.
_NOW = "this run"


def differences(old: Header, new: Header) -> dict[str, tuple[str, str]]:
    """Return the settings that differ between two runs, with both values; "" if missing."""
    return unlike(_facts(old), _facts(new))


def unlike(was: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the facts that differ, with both texts; "" where one is missing."""
    both = {name: (was.get(name, ""), now.get(name, "")) for name in {**was, **now}}
    return {name: (one, other) for name, (one, other) in both.items() if one != other}


def rules(header: Header) -> Mapping[str, str]:
    """Return the settings that can change a verdict, in words; "" is the default."""
    return {
        "known defects": "applied" if header.known else "judged",
        "known failures": ", ".join(f"{name} ({said})" for name, said in header.ledgers.items()),
        "warnings": "red" if header.strict else "",
        "unsupported": "red" if header.require_supported else "",
        "seed": "" if header.seed is None else str(header.seed),
        **header.options,
    }


def _release(info: BackendInfo) -> str:
    return " ".join(filter(None, (info.of, info.version)))


def _facts(header: Header) -> Mapping[str, str]:
    about = header.environment
    return {
        "opcheck": about.opcheck,
        "Python": about.python,
        "platform": about.platform,
        **{f"package {name}": version for name, version in about.packages.items()},
        **{f"backend {info.address}": _release(info) for info in header.backends},
        **{f"oracle {info.address}": _release(info) for info in header.oracles},
        "selection": header.selection,
        "paths": " ".join(header.paths),
        "shard": header.part.removeprefix("shard "),
        **rules(header),
    }


@dataclass(frozen=True)
class RunPart:
    """A run and what to call it."""

    name: str
    run: Run


def merge(parts: Sequence[RunPart], *, mixed_versions: bool = False) -> tuple[Run, tuple[str, ...]]:
    """Merge `parts`, at least one; return the run, in order of cases, and what is missing.

    Raises UsageError with every reason why they do not fit: another suite, other rules, another
    opcheck unless `mixed_versions`, two versions of a backend, a result twice, or backends that
    must be compared with each other in different runs.
    """
    first = parts[0].run.header
    wrong = [*misfits(parts)]
    for part in parts if not mixed_versions else ():
        if (other := part.run.header.environment.opcheck) != first.environment.opcheck:
            both = f"{parts[0].name} and {part.name} are of opcheck {first.environment.opcheck}"
            wrong.append(f"{both} and {other} (--mixed-versions joins them)")
    wrong += [*_clashes(parts), *_left_over(parts)]
    if wrong:
        raise UsageError("\n".join(dict.fromkeys(wrong)))
    headers = [part.run.header for part in parts]
    backends = _whole(info for header in headers for info in header.backends)
    oracles = _whole(info for header in headers for info in header.oracles)
    header = replace(
        first,
        environment=joined([one.environment for one in headers]),
        backends=tuple(backends.values()),
        oracles=tuple(oracles.values()),
        cases=first.suite.cases,
        started=min((one.started for one in headers), key=datetime.fromisoformat),
        named=any(one.named for one in headers),
        shard=None,
    )
    order = {address: number for number, address in enumerate(backends)}
    records = sorted(
        (record for part in parts for record in part.run.records),
        key=lambda record: (record.place, order[record.backend]),
    )
    lacks = tuple(_lacks(parts, header))
    endings = [part.run.ending for part in parts if part.run.ending]
    ending = Ending(
        not lacks,
        seconds=round(sum(one.seconds for one in endings), 3),
        accidents=tuple(said for one in endings for said in one.accidents),
        partings=tuple(said for one in endings for said in one.partings),
    )
    code, meaning = status(header, records, ending, cut_short=bool(lacks))
    ending = replace(ending, exit_code=int(code), meaning=meaning)
    return Run(header, tuple(records), ending), lacks


def _whole(infos: Iterable[BackendInfo]) -> dict[str, BackendInfo]:
    """Merge the backends by address, with all digests of their files."""
    found: dict[str, BackendInfo] = {}
    for info in infos:
        before = found.get(info.address, info).made_of
        made = {
            name: _each([before.get(name, "none"), info.made_of.get(name, "none")])
            for name in {**before, **info.made_of}
        }
        found[info.address] = replace(info, made_of=made)
    return found


def _left_over(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield parts that began much later than another, with another build of a backend."""
    for number, part in enumerate(parts):
        for other in parts[:number]:
            hours = abs(apart(other.run.header, part.run.header))
            before = {info.address: info.made_of for info in other.run.header.backends}
            for info in part.run.header.backends if hours > APART else ():
                if before.get(info.address, info.made_of) != info.made_of:
                    both = f"{other.name} and {part.name} began {hours:,.1f} hours apart"
                    yield f"{both}, with other files of {quoted(info.address)}"


def apart(one: Header, other: Header) -> float:
    """Return the hours between the starts of two runs."""
    first, second = (datetime.fromisoformat(header.started) for header in (one, other))
    return (second - first).total_seconds() / 3600


def misfits(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield why parts do not fit the first part or each other."""
    first = parts[0]
    one = first.run.header
    shards: dict[int, str] = {}
    known: dict[tuple[str, str], tuple[BackendInfo, str]] = {}
    for part in parts:
        other = part.run.header
        both = f"{first.name} and {part.name}"
        if other.suite != one.suite:
            counts = f"{one.suite.cases:,} and {other.suite.cases:,} cases"
            yield f"{both} are of different suites, of {counts}"
        if other_rules := unlike(rules(one), rules(other)):
            yield f"{both} were judged by different rules: {', '.join(sorted(other_rules))}"
        if other.shard and shards.setdefault(other.shard[1], part.name) == part.name:
            counted = ", ".join(f"{count} ({name})" for count, name in shards.items())
            if len(shards) > 1:
                yield f"the shards are counted differently: of {counted}"
        named = [("", info) for info in other.backends]
        named += [("oracle ", info) for info in other.oracles]
        for what, info in named:
            before, where = known.setdefault((what, info.address), (info, part.name))
            if before != info:
                versions = before.version, info.version
                how = " and ".join(versions) if versions[0] != versions[1] else "other settings"
                yield f"{what}{quoted(info.address)} has {how} in {where} and {part.name}"


def _clashes(parts: Sequence[RunPart]) -> Iterator[str]:
    """Yield results that occur in two parts, cases that differ between them, or are compared apart.

    The latter are those on which they compare different backends with each other.
    """
    first: dict[tuple[str, str], int] = {}
    cases: dict[str, tuple[int, str]] = {}
    twice: dict[tuple[int, int], list[Record]] = {}
    compared: dict[str, int] = {}
    torn: dict[tuple[int, int], str] = {}
    for number, part in enumerate(parts):
        for record in part.run.records:
            case = quoted(record.case)
            if (other := first.setdefault((record.case, record.backend), number)) != number:
                twice.setdefault((other, number), []).append(record)
            about = record.place, record.digest
            if cases.setdefault(record.case, about) != about:
                yield f"{part.name} has another case {case} than the runs before it"
            by_others = record.against and not record.oracle
            if by_others and (other := compared.setdefault(record.case, number)) != number:
                torn.setdefault((other, number), case)
    for (one, other), records in twice.items():
        named = few([f"{quoted(r.backend)} on {quoted(r.case)}" for r in records], _NAMED)
        yield f"results that stand in both {parts[one].name} and {parts[other].name}: {named}"
    for (one, other), case in torn.items():
        both = f"{parts[one].name} and {parts[other].name}"
        yield f"{both} compare other backends with each other on {case}"


def _lacks(parts: Sequence[RunPart], header: Header) -> Iterator[str]:
    for part in parts:
        if part.run.ending is None:
            yield f"{part.name} was cut short, and nobody knows how it ended"
    for backend in header.backends:
        mine = [part for part in parts if backend in part.run.header.backends]
        counts = [sum(one.backend == backend.address for one in part.run.records) for part in mine]
        if sum(counts) == header.suite.cases:
            continue
        yield f"{backend.address}: {sum(counts):,} of {header.suite.cases:,} results"
        for part, count in zip(mine, counts, strict=True):
            if count < part.run.header.cases:
                yield f"  {part.name} has {count:,} of {part.run.header.cases:,}"
        shards = [part.run.header.shard for part in mine]
        there = {shard[0] for shard in shards if shard}
        total = max((shard[1] for shard in shards if shard), default=0)
        for number in sorted({*range(1, total + 1)} - there) if all(shards) else ():
            yield f"  shard {number} of {total} is missing"


def joined(all_: Sequence[Environment]) -> Environment:
    """Merge environments; values that differ are listed once each."""
    packages = dict.fromkeys(name for one in all_ for name in one.packages)
    return Environment(
        opcheck=_each(one.opcheck for one in all_),
        python=_each(one.python for one in all_),
        platform=_each(one.platform for one in all_),
        packages={
            name: _each(one.packages[name] for one in all_ if name in one.packages)
            for name in packages
        },
    )


def _each(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(part for value in values for part in value.split(", ")))


def resumed(
    earlier: RunPart,
    now: Header,
    digests: Mapping[str, tuple[int, str]],
    compared: Collection[str] = (),
    hours: float = APART,
) -> Run:
    """Return the results of `earlier` that a run with the header `now` can reuse.

    `digests` are place and digest of each case, by id; cases `compared` among backends need all
    results. Raises UsageError with every reason why it is another run: another suite or shard,
    other backends, versions, files or rules, or more `hours` apart.
    """
    old = earlier.run.header
    wrong = [*misfits([earlier, RunPart(_NOW, replace(earlier.run, header=now))])]
    wrong += _changed_since(earlier.name, old, now, hours)
    records = [one for one in earlier.run.records if one.verdict is not Verdict.NOT_RUN]
    if earlier.run.complete and len(records) == len(earlier.run.records):
        wrong.append(f"{earlier.name} is complete: there is nothing to go on with")
    for record in earlier.run.records if old.suite == now.suite else ():
        if digests.get(record.case) != (record.place, record.digest):
            wrong.append(f"{earlier.name} has another case {quoted(record.case)} than {_NOW}")
    if wrong:
        hint = f"another file begins a new run; {earlier.name} is as it was"
        raise UsageError("\n".join(dict.fromkeys(wrong)), hint)
    order = {info.address: number for number, info in enumerate(old.backends)}
    # Backends are compared with each other once all of them have answered.
    count = Counter(one.case for one in records)
    torn = {case for case in compared if count[case] < len(old.backends)}
    records = [one for one in records if one.case not in torn]
    records.sort(key=lambda one: (one.place, order[one.backend]))
    environment = joined([old.environment, now.environment])
    header = replace(old, environment=environment, named=old.named or now.named)
    return Run(header, tuple(records), earlier.run.ending)


def _changed_since(name: str, old: Header, now: Header, hours: float) -> Iterator[str]:
    """Yield changes that parts of a merged run may have, but a resumed run may not."""
    versions = old.environment.opcheck, now.environment.opcheck
    if versions[1] not in versions[0].split(", "):
        yield f"{name} is of opcheck {versions[0]}, {_NOW} of {versions[1]}"
    if old.shard != now.shard:
        parts = [header.part or "the whole suite" for header in (old, now)]
        yield f"{name} is {parts[0]}, {_NOW} {parts[1]}"
    one, other = ([info.address for info in header.backends] for header in (old, now))
    if one != other:
        yield f"{name} has the backends {', '.join(one)}; {_NOW} {', '.join(other)}"
    known = {info.address: info.made_of for info in (*old.backends, *old.oracles)}
    for info in (*now.backends, *now.oracles):
        before = known.get(info.address, info.made_of)
        if unlike := sorted(dict(before.items() ^ info.made_of.items())):
            yield f"{quoted(info.address)} was made of other files in {name}: {', '.join(unlike)}"
    # Too much may have changed meanwhile without a trace in the file.
    passed = apart(old, now)
    if abs(passed) > hours:
        when = f"{abs(passed):,.1f} hours {'ago' if passed > 0 else 'from now'}"
        yield f"{name} began {when}; --resume-within {hours:g} allows no more"
