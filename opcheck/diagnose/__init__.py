"""Diagnosis of wrong answers: mutants that reproduce them, and what failing cases share.

A wrong answer is `evidence`. `suspects` compares it with the answers of mutants by `likeness`, of
`faults` that any operator can have, and of mutants `fitted` to it, looks for `patterns` in its
numbers, and remembers all of a backend. In the end `attribution` gathers the `results`, gives the
`operator_failures` of each operator their causes, a mutant (`mutant_causes`), one of the `rules` on
`facts` of cases (`condition_causes`), wrong `elements` (`element_causes`, by `explanations` of
their `traits` or by `positions`) or another one (`other_causes`), and puts them in words
(`wording`).
"""

from opcheck.diagnose.allowance import UNLIMITED, Allowance
from opcheck.diagnose.attribution import attribute_causes
from opcheck.diagnose.evidence import Evidence
from opcheck.diagnose.results import DiagnosedResult, without_particulars
from opcheck.diagnose.suspects import Suspects, looks_like, names_of
