"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass

from opcheck.timing.ratios import LOOKS


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    After so many rounds as `looks` says it is looked whether all ratios to `base` are precise. No
    more is measured of a case than takes `seconds`, of one backend no more than `share` of that
    once each of its processes has had its turn. No process is warmed up for more than `warm`
    seconds. Where `flushed` is not 0, so many bytes are touched before every call.
    """

    base: str
    looks: tuple[int, ...] = LOOKS
    seconds: float = 20.0
    share: float = 0.5
    warm: float = 0.5
    flushed: int = 0

    @property
    def rounds(self) -> int:
        """The most rounds of a case."""
        return self.looks[-1]
