"""Diagnosis of wrong answers: mutants that reproduce them, and what failing cases share.

`suspects` compares answers with those of mutants, and remembers all of a backend. In the end
`settle` chooses a cause for each failure: a mutant, or a rule on the features of cases.
"""

from opcheck.diagnose.settle import PARTICULARS, Seen, settled
from opcheck.diagnose.suspects import Evidence, Suspects, looks_like, names_of
