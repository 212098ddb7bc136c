"""Makes `docs/suggestions.md`: what texts suggest and do not state, so that a deviation warns.

python docs/suggestions.py
"""

from pathlib import Path

from opcheck.engine.suggestions.table import SUGGESTIONS

PAGE = Path(__file__).with_suffix(".md")
_INTRODUCTION = """\
# Suggestions

<!-- Made by `python docs/suggestions.py`; edits are lost. -->

Where a text suggests an answer and does not state it, a sound backend may differ: a deviation is
a warning. A shipped case says so by its rule, `should`. A case of yours that states neither a rule
nor an answer, a model of one node, and a node that `opcheck locate` judges get the rule from the
engine, by this table ([table.py](../opcheck/engine/suggestions/table.py)). Wrong answers to shipped
cases are warnings by this table only, too: others are *fail*. In a case of your own, `rule: should`
makes each deviation a warning.

- *Elements*: a wrong answer is a warning if only such elements are wrong, and each has a value of
  those in the column *admitted*. Anything else that is wrong is *fail*.
- *Refusal*: a refusal is a warning. A wrong answer is *fail*.
- *Node*: an answer of those in the column *admitted* is a warning, of another shape too, and so is
  a refusal. Any other wrong answer is *fail*.
- *Admitted* is what an honest engine gives for the reason that stands next to it. A subnormal
  number in it may always be zero.
- Your own `rule: must`, a stated answer or a stated tolerance makes each deviation *fail*.
- A whole model has no rule: an answer of it that is wrong is *fail*, and `opcheck locate` shows the
  node as a warning.
- `opcheck golden write` writes a test into `should/` if nothing in it is stated.
"""


def page() -> str:
    """Return the page."""
    rows = [
        "| id | what is only suggested | of | admitted | operators |",
        "|---|---|---|---|---|",
    ]
    for suggestion in SUGGESTIONS:
        names = ", ".join(sorted(suggestion.operators))
        cells = (
            f"`{suggestion.id}`",
            suggestion.text,
            suggestion.scope,
            suggestion.admitted,
            names,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([_INTRODUCTION, *rows, ""])


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
