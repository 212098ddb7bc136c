"""Diagnosis of wrong answers: mutants that reproduce them, and what failing cases share.

A wrong answer is `evidence`. `suspects` compares it with the answers of mutants by `likeness`, of
`faults` that any operator can have, and of mutants `fitted` to it, looks for `patterns` in its
numbers, and remembers all of a backend. In the end `attribution` chooses a cause for each failure:
a mutant, or one of the `rules` on `facts` of cases.
"""

from opcheck.diagnose.allowance import UNLIMITED, Allowance
from opcheck.diagnose.attribution import (
    DiagnosedResult,
    attribute_causes,
    without_particulars,
)
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.suspects import Suspects, looks_like, names_of
