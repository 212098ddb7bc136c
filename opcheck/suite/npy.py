"""Reading .npy files, which may come from strangers."""

from __future__ import annotations

import tokenize
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"\x93NUMPY"
_ZIP = b"PK"
_OF_HEADERS = (SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError)


def load_npy(path: Path) -> NDArray[Any]:
    """The array in a .npy file, mapped into memory and read-only.

    Raises ValueError, saying what the file is instead.
    """
    try:
        # A pipe would never end.
        if not path.is_file():
            raise ValueError("is no file")
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
        if start != _MAGIC:
            raise ValueError(f"is {'an archive' if start.startswith(_ZIP) else 'no .npy file'}")
        return _mapped(path)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error


def _mapped(path: Path) -> NDArray[Any]:
    with warnings.catch_warnings():
        # Files of Python 2 take longer to read, which is no concern of ours.
        warnings.simplefilter("ignore")
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        # The header is a Python expression, and NumPy lets out whatever its parsing raises.
        except (*_OF_HEADERS, ValueError, EOFError, OverflowError) as error:
            raise ValueError("is a damaged .npy file, or holds Python objects") from error
    return array
