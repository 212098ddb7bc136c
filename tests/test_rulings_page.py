"""The page of rulings has every ruling of the engine, as the code states it."""

import re

from docs.rulings import PAGE
from opcheck.engine.all_rulings import all_rulings

ROWS = re.findall(r"^\| `([\w-]+)` \| (.+?) \| (.+?) \| ", PAGE.read_text("utf-8"), re.MULTILINE)


def test_the_page_lists_every_ruling() -> None:
    stated = {(one.id, one.text, tuple(one.readings), one.by_element) for one in all_rulings()}
    shown = {
        (id_, text, tuple(re.findall(r"`(\w+)`", readings)), readings.endswith("; each element"))
        for id_, text, readings in ROWS
    }
    assert shown == stated, "write it with: python docs/rulings.py"


def test_ids_and_readings_are_words() -> None:
    for ruling in all_rulings():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", ruling.id), ruling
        assert len(ruling.readings) > 1, ruling
        assert len(set(ruling.readings)) == len(ruling.readings), ruling
        assert ruling.text.endswith("."), ruling
