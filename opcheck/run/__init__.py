"""Cases on backends: a stream of results. No printing."""

from opcheck.run.conduct import conduct, resume
from opcheck.run.machine import environment

__all__ = ["conduct", "environment", "resume"]
