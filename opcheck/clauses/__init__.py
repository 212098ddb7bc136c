"""The specification, sentence by sentence, and which cases test each of them."""

from opcheck.clauses.pages import (
    CheckedSentence,
    Pages,
    Sentence,
    Survey,
    check_files,
    cited,
    cut,
    load_pages,
    pages_of,
    quotation,
    rulings,
    survey,
)
