"""Faults of window arithmetic, which all pooling shares."""

from __future__ import annotations

from opcheck.engine.mutants.mutant import Faulty

FAULTS: tuple[Faulty, ...] = ()
