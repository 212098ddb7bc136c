"""Diagnosis of wrong answers: mutants that reproduce them, and what failing cases share.

`evidence` compares one answer with a mutant's. `suspects` remembers all answers of a backend. In
the end `settle` chooses a cause for each failure: a mutant, or a rule on the features of cases.
"""

from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.settle import PARTICULARS, Seen, settled
from opcheck.diagnose.suspects import Suspects, looks_like, names_of
