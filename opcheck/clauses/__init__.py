"""The specification, sentence by sentence, and which cases test each of them.

`pages` cuts the texts into sentences and finds what a case's clause quotes of them, `files`
reads what opcheck says of them, `coverage` counts the cases of each. That no sentence of the
operators that opcheck tests is untested is held by `tests/test_clauses.py`.
"""

from __future__ import annotations

from opcheck.clauses.coverage import Checked, Survey, survey
from opcheck.clauses.files import Pages, load_pages, pages_of, rulings
from opcheck.clauses.pages import Sentence, cited, cut, quotation
