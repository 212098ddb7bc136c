"""Why an answer is wrong: named mistakes that reproduce it, and what its numbers have in common.

`likeness` tells whether a mistake gives what a backend gave, `numbers` looks at wrong values by
themselves, `suspects` remembers across the failures of a backend, and `causes` sums them up.
"""

from opcheck.diagnose.causes import UNEXPLAINED, Cause, by_cause, causes
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.suspects import Suspects, looks_like, names_of

__all__ = [
    "UNEXPLAINED",
    "Cause",
    "Evidence",
    "Suspects",
    "by_cause",
    "causes",
    "looks_like",
    "names_of",
]
