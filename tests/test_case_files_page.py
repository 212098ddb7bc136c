"""docs/case-files.md, all of the schema, and docs/operators.md are what their generators make."""

import json
import re

import pytest

from docs import case_files, operators
from opcheck.suite.fields import json_schema

PAGE = case_files.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("made", [case_files, operators])
def test_the_page_is_up_to_date(made):
    there = made.PAGE.read_text(encoding="utf-8")
    assert made.text() == there, f"write it with: python {made.__name__.replace('.', '/')}.py"


def test_every_field_of_the_schema_is_on_it():
    schema = json_schema()
    objects = [schema, *schema["$defs"].values()]
    fields = {name for one in objects for name in one["properties"]}
    assert len(fields) > 30
    assert [name for name in sorted(fields) if f"| `{name}`" not in PAGE] == []


def test_every_row_says_what_it_takes_and_means():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in row[1:-1].split("|")] for row in rows]
    # What several kinds of answers mean is told in the sections of each.
    assert [row[0].split("`")[1] for row in cells if not (row[-2] and row[-1])] == ["any_of"]


def test_links_within_it_lead_to_its_sections():
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    anchors = {title.lower().replace(",", "").replace(" ", "-") for title in titles}
    links = re.findall(r"\(#([^)]*)\)", PAGE)
    assert links
    assert set(links) <= anchors


def test_the_table_of_cells_is_up_to_date():
    there = (operators.shipped_suites() / operators.JUDGED).read_text(encoding="utf-8")
    assert operators.judged() == there, "write it with: python docs/operators.py"


def test_a_field_that_changes_changes_the_page(monkeypatch):
    schema = json.loads(json.dumps(json_schema()))
    schema["properties"]["level"]["description"] = "Another meaning."
    monkeypatch.setattr(case_files, "json_schema", lambda: schema)
    assert "| Another meaning. |" in case_files.text()
