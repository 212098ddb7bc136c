"""Case files that come from test data: seen to say what the data say, then put in their place."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from opcheck.errors import CaseFileError, Unwritable, UsageError
from opcheck.model import Array, Case, TensorSpec, Values
from opcheck.suite import load, materialize


def place(
    file: Path,
    text: str,
    arrays: Mapping[str, Array],
    tensors: Mapping[str, Mapping[str, Array]],
    *,
    force: bool,
) -> int:
    """Write a case file, and the `arrays` beside it; the number of its cases.

    It is read before it is put there, and has to give the `tensors` of each case bit for bit. Each
    file is there whole or not at all, and the case file last. Raises UsageError where the text is
    no valid case file, or where something would be replaced without `force`; and Unwritable.
    """
    targets = [*(file.parent / name for name in arrays), file]
    there = [path for path in targets if path.exists() or path.is_symlink()]
    if there and not force:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise UsageError(f"{there[0]}{more}: already there", "--force replaces what is there")
    if folders := [path for path in there if path.is_dir()]:
        raise UsageError(f"{folders[0]}: this is a folder")
    try:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".opcheck-") as made:
            folder = Path(made)
            for name, array in arrays.items():
                np.save(folder / name, array, allow_pickle=False)
            (folder / file.name).write_text(text, encoding="utf-8")
            count = _check(folder / file.name, tensors)
            for target in targets:
                shutil.move(folder / target.name, target)
    except OSError as error:
        raise Unwritable(file, error) from None
    return count


def _check(file: Path, tensors: Mapping[str, Mapping[str, Array]]) -> int:
    try:
        cases = load([file])
    except CaseFileError as error:
        told = [f"{problem.line}: {problem.message}" for problem in error.problems]
        raise UsageError("\n".join(["this makes no valid case file:", *told])) from None
    for case in cases:
        for name, array in tensors[case.name].items():
            if not _same(_read(case, name), array):
                raise UsageError(f"{case.name}: {name} would not be the same tensor")
    return len(cases)


def _read(case: Case, name: str) -> Array | None:
    outputs: tuple[TensorSpec, ...] = case.expect.outputs if isinstance(case.expect, Values) else ()
    found = [spec for spec in (*case.inputs, *outputs) if spec.name == name]
    return materialize(found[0]) if found else None


def _same(one: Array | None, other: Array) -> bool:
    return (
        one is not None
        and (one.dtype, one.shape) == (other.dtype, other.shape)
        and one.tobytes() == other.tobytes()
    )
