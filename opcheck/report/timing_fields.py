"""The form of the lines of a stored benchmark, and what they say."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from opcheck.model.timing import Bench, Sample, Timed, Timing
from opcheck.report.json_lines import Fields

# Nothing takes less than a picosecond, or more than 30 years.
_Seconds = Annotated[float, Field(ge=1e-12, le=1e9)]
_Count = Annotated[int, Field(ge=0, lt=1 << 53)]


class HeaderFields(Fields):
    """The first line."""

    type: Literal["bench"]
    format: Literal[1]
    bench: Bench

    @model_validator(mode="after")
    def _sane(self) -> Self:
        machine = self.bench.machine
        for count in (machine.cores, machine.memory, self.bench.threads, self.bench.workers):
            if not 0 <= count < 1 << 53:
                raise ValueError("cores, memory, threads and workers must be counts")
        return self


class SamplesFields(Fields):
    """Samples, a column for each thing that is known of them."""

    round: list[_Count]
    worker: list[_Count]
    loops: list[Annotated[_Count, Field(ge=1)]]
    seconds: list[_Seconds]
    # Absent from files written before it was measured.
    waited: list[Annotated[float, Field(ge=0, le=1e9)]] = Field(default=[])

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if len({*map(len, self._columns())}) > 1:
            raise ValueError("the columns must be of equal length")
        if len(set(self.round)) < len(self.round):
            raise ValueError("a round must occur once")
        return self

    def samples(self) -> tuple[Sample, ...]:
        """The same, a sample each."""
        return tuple(Sample(*row) for row in zip(*self._columns(), strict=True))

    def _columns(self) -> tuple[list[Any], ...]:
        waited = self.waited or [0.0] * len(self.round)
        return self.round, self.worker, self.loops, self.seconds, waited


class TimingFields(Fields):
    """One backend's part of a line."""

    backend: str
    why_not: str
    prepared: list[Annotated[float, Field(ge=0, le=1e9)]]
    samples: SamplesFields
    printed: str = ""


class TimedFields(Fields):
    """The line of one case."""

    type: Literal["timed"]
    case: str
    op: str
    dtype: str
    shapes: str
    moved: _Count
    timings: list[TimingFields]
    copy_: Annotated[SamplesFields, Field(alias="copy")]
    yardstick: SamplesFields
    sweep: str = ""
    digest: str = ""

    @model_validator(mode="after")
    def _once(self) -> Self:
        if len({one.backend for one in self.timings}) < len(self.timings):
            raise ValueError("a backend must occur once")
        return self

    def timed(self) -> Timed:
        """The same, as everything else knows it."""
        timings = tuple(
            Timing(
                one.backend, one.samples.samples(), tuple(one.prepared), one.why_not, one.printed
            )
            for one in self.timings
        )
        about = self.case, self.op, self.dtype, self.shapes, self.moved
        samples = self.copy_.samples(), self.yardstick.samples()
        return Timed(*about, timings, *samples, self.sweep, self.digest)


class FooterFields(Fields):
    """The last line."""

    type: Literal["footer"]
    cases: _Count
    complete: bool


#: Any line but the first.
LINE: TypeAdapter[TimedFields | FooterFields] = TypeAdapter(
    Annotated[TimedFields | FooterFields, Field(discriminator="type")]
)
