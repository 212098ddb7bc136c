"""Diagnosis of wrong answers: mutants that reproduce them, and what failing cases share.

`suspects` compares answers with those of mutants, and remembers all of a backend. In the end
`attribution` chooses a cause for each failure: a mutant, or one of the `rules` on facts of cases.
"""

from opcheck.diagnose.allowance import UNLIMITED, Allowance
from opcheck.diagnose.attribution import PARTICULARS, DiagnosedResult, attribute_causes
from opcheck.diagnose.suspects import Evidence, Suspects, looks_like, names_of
