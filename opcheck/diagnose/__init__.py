"""Diagnosis of wrong answers: mutants that reproduce them, and what failing cases share.

`evidence` says if a mutant gives what a backend gave, beside a fault or not, and looks at wrong
values by themselves. `suspects` remembers across the failures and passes of a backend.
Once all results are there, `settle` chooses a cause for each failure, by the mutants that no pass
contradicts or by `rules` about the `features` of its case.
"""

from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.settle import PARTICULARS, Seen, settled
from opcheck.diagnose.suspects import Suspects, looks_like, names_of
