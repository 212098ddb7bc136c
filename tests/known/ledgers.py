"""User ledgers made by hand, and results that they are asked about."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opcheck.dtypes import DTYPES
from opcheck.known import Gate, UserLedger, load_user_ledgers
from opcheck.model import BackendInfo, Case, LiveResult, OpVersion, Verdict
from tests.report.made import CASE, result

INFO = BackendInfo("acme", "acme", "1.5")


def ledger(folder: Path, *entries: str, backend="acme", name="mine.yaml") -> UserLedger:
    """The ledger with these entries, each of which may have several lines."""
    file = folder / name
    lines = [f"- {entry}".replace("\n", "\n  ") for entry in entries]
    file.write_text("\n".join([f"backend: {backend}", "known:", *lines, ""]))
    (found,) = load_user_ledgers([file])
    return found


def entry(where: str = "[{op: Hardmax}]", **fields: Any) -> str:
    """An entry in a line, of failing values unless it says otherwise; None leaves a field out."""
    said = {"verdict": "fail", "failure": "values", "cause": "Because."} | fields
    words = [f"{key}: {value}" for key, value in said.items() if value is not None]
    return f"{{{', '.join([*words, f'where: {where}'])}}}"


def failing(**fields: Any) -> LiveResult:
    """A failure of the operator whose case the ledgers list."""
    verdict, how = fields.pop("verdict", Verdict.FAIL), fields.pop("failure", "values")
    return replace(result(verdict, **fields), failure=how)


def judged(found: LiveResult, *said: UserLedger, looks: Sequence[str] = (), **about) -> LiveResult:
    """What ledgers make of a result that looks like these mistakes."""
    return Gate(said).apply(found, replace(INFO, **about), lambda name: name in looks) or found


def case(name: str, op: str = "Hardmax", **fields: Any) -> Case:
    """A case whose id tells its fields."""
    made = {"row": None, "opset": 13, "dtype": "float32", **fields}
    coordinates = f"opset={made['opset']},dtype={made['dtype']}"
    row = f"#{made['row']}" if made["row"] else ""
    dtype = DTYPES[made.pop("dtype")] if made["dtype"] else made.pop("dtype")
    more = made.pop("more", "")
    about = {"name": name, "op": OpVersion("", op, 13), "dtype": dtype, **made}
    return replace(CASE, id=f"{op}/{name}@{coordinates}{more}{row}", **about)
