"""Tensors as NumPy's archives, the same bytes on every machine; read without trust."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from opcheck import dtypes
from opcheck.dtypes import DTYPES
from opcheck.model import Array

_EPOCH = (1980, 1, 1, 0, 0, 0)
#: So much beside its tensors an archive may hold, in bytes: its directory, twice a name each.
_DIRECTORY = 1 << 12


def npz_bytes(tensors: Mapping[str, Array]) -> bytes:
    """An archive of NumPy's arrays; bfloat16, which NumPy's format lacks, as float32.

    Not by numpy.savez, whose archives tell on which system they were made.
    """
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, array in tensors.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            file.writestr(entry, npy_bytes(array))
    return archive.getvalue()


def npy_bytes(array: Array) -> bytes:
    """An array as NumPy's format has it, little-endian; bfloat16 as float32."""
    if dtypes.of(array) is DTYPES["bfloat16"]:
        array = array.astype(np.float32)
    file = io.BytesIO()
    little = np.ascontiguousarray(array).reshape(array.shape)
    np.lib.format.write_array(file, little.astype(array.dtype.newbyteorder("<")), (1, 0), False)
    return file.getvalue()


def wrong_archive(path: Path, files: Mapping[str, bytes]) -> str | None:
    """What is wrong with an archive that should hold just these files, None if nothing.

    It may come from a stranger: no more is unpacked than the files have, and nothing unpickled.
    """
    room = 2 * _DIRECTORY * (len(files) + 1)
    try:
        if path.stat().st_size > sum(map(len, files.values())) + room:
            return "is larger than its tensors"
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            members = archive.infolist()
            if sorted(one.filename for one in members) != sorted(files):
                return "holds other arrays than the test has"
            for one in members:
                want = files[one.filename]
                if one.file_size != len(want):
                    return f"{one.filename} unpacks to {one.file_size:,} bytes, not {len(want):,}"
                with archive.open(one) as member:
                    if member.read(len(want) + 1) != want:
                        return f"{one.filename} is not the tensor beside it"
    # zipfile lets out what it and its decompressors raise.
    except (OSError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        return f"is no readable archive: {error}"
    return None
