"""The specification, sentence by sentence, and which cases test each of them.

`pages` cuts the texts into sentences and finds what a case's clause quotes of them, `coverage`
reads what opcheck says of them and counts the cases of each. That no sentence of the operators that
opcheck tests is untested is held by `tests/test_clauses.py`.
"""

from opcheck.clauses.coverage import (
    CheckedSentence,
    Pages,
    Survey,
    load_pages,
    pages_of,
    rulings,
    survey,
)
from opcheck.clauses.pages import Sentence, cited, cut, quotation
