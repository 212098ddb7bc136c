"""Cases on backends: a stream of results. No printing."""

from opcheck.execution.scheduler import Scheduler
from opcheck.execution.workers import environment
