"""Cases on backends: a stream of results. No printing."""

from opcheck.execution.machine import environment
from opcheck.execution.scheduler import Scheduler, judge_all
