"""The specification, sentence by sentence, and which cases test each of them.

`pages` reads the sentences, `quoting` finds what a case's clause quotes on them and counts the
cases of every sentence. That no sentence of the shipped pages is missing, invented or
untested is held by `tests/test_clauses.py`.
"""

from opcheck.clauses.pages import Pages, Sentence, load_pages, shipped_pages
from opcheck.clauses.quoting import Checked, Survey, cited, quotation, rulings, survey
