"""What a run that was cut short has that need not be asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from opcheck.errors import UsageError
from opcheck.model import Ending, Header, Record, Verdict
from opcheck.reading import quoted
from opcheck.records.merging import APART, Part, apart, joined, misfits

#: What the run that goes on is called beside the file.
_NOW = "this run"
#: All that is known of how a run ended that was killed.
_KILLED = Ending(False, 0, "")


@dataclass(frozen=True)
class Kept:
    """What is kept of a run: its header, as that of the whole, and results by case and backend.

    The latter are in the order of the cases. `ending` is how the run ended, as far as is known.
    """

    header: Header
    records: Mapping[tuple[str, str], Record] = field(default_factory=dict)
    ending: Ending = _KILLED

    @property
    def missing(self) -> int:
        """How many results are to come."""
        return self.header.results - len(self.records)

    def behind(self, records: Sequence[Record]) -> list[Record]:
        """What is kept and not among these records."""
        there = {(record.case, record.backend) for record in records}
        return [record for pair, record in self.records.items() if pair not in there]


def resumed(
    earlier: Part,
    now: Header,
    digests: Mapping[str, tuple[int, str]],
    compared: Collection[str] = (),
    hours: float = APART,
) -> Kept:
    """What a run with the header `now` can keep of `earlier`: all that was delivered.

    `digests` are place and digest of the cases, by their ids; those `compared` among the backends
    are kept if all of their results are. Raises UsageError with every reason why it is another run:
    another suite or shard, other backends, versions, files or rules, or more `hours` apart.
    """
    old = earlier.run.header
    wrong = [*misfits([earlier, Part(_NOW, replace(earlier.run, header=now))])]
    wrong += [*_unlike(earlier.name, old, now), *_too_late(earlier.name, old, now, hours)]
    # What was not delivered is what is missing.
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
    # What a backend is worth beside the others is known once all of them have answered.
    count = Counter(one.case for one in records)
    torn = {case for case in compared if count[case] < len(old.backends)}
    records = [one for one in records if one.case not in torn]
    records.sort(key=lambda one: (one.place, order[one.backend]))
    header = replace(
        old,
        environment=joined([old.environment, now.environment]),
        named=old.named or now.named,
    )
    pairs = {(one.case, one.backend): one for one in records}
    return Kept(header, pairs, earlier.run.ending or _KILLED)


def _unlike(name: str, old: Header, now: Header) -> Iterator[str]:
    """What may differ in the parts of a whole, but not within one."""
    versions = old.environment.opcheck, now.environment.opcheck
    if versions[1] not in versions[0].split(", "):
        yield f"{name} is of opcheck {versions[0]}, {_NOW} of {versions[1]}"
    if old.shard != now.shard:
        yield f"{name} is {_which(old)}, {_NOW} {_which(now)}"
    one, other = ([info.address for info in header.backends] for header in (old, now))
    if one != other:
        yield f"{name} has the backends {', '.join(one)}; {_NOW} {', '.join(other)}"
    known = {info.address: info.made_of for info in (*old.backends, *old.oracles)}
    for info in (*now.backends, *now.oracles):
        before = known.get(info.address, info.made_of)
        if unlike := sorted(dict(before.items() ^ info.made_of.items())):
            yield f"{quoted(info.address)} was made of other files in {name}: {', '.join(unlike)}"


def _too_late(name: str, old: Header, now: Header, hours: float) -> Iterator[str]:
    """Why too much may have changed since a run began that nothing in it shows."""
    passed = apart(old, now)
    if abs(passed) > hours:
        when = f"{abs(passed):,.1f} hours {'ago' if passed > 0 else 'from now'}"
        yield f"{name} began {when}; --resume-within {hours:g} allows no more"


def _which(header: Header) -> str:
    return f"shard {header.shard[0]} of {header.shard[1]}" if header.shard else "the whole suite"
