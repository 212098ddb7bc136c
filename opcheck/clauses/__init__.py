"""The specification, sentence by sentence, and which cases test each of them.

`pages` cuts texts into sentences and finds what clauses quote, `coverage` counts their cases.
"""

from opcheck.clauses.coverage import (
    CheckedSentence,
    Pages,
    Survey,
    check_files,
    load_pages,
    pages_of,
    rulings,
    survey,
)
from opcheck.clauses.pages import Sentence, cited, cut, quotation
