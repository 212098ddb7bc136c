"""The page of suggestions has every suggestion of the engine, as the code states it."""

import re

from docs.suggestions import PAGE, page
from opcheck.engine.suggestions.table import SUGGESTIONS


def test_the_page_lists_every_suggestion() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it with: python docs/suggestions.py"


def test_ids_are_words_and_texts_are_sentences() -> None:
    for suggestion in SUGGESTIONS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", suggestion.id), suggestion.id
        assert suggestion.text.endswith("."), suggestion.id
