"""Releases of the package onnx, and the opsets that each of them has, by onnx's own table."""

from collections.abc import Iterable, Mapping

from onnx import helper

from opcheck.errors import UsageError, did_you_mean
from opcheck.model import Case

#: Domains of the columns of onnx's table that follow the release and the IR version.
_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training")


def opsets_of_release(release: str) -> Mapping[str, int]:
    """Return the highest opset of each domain that a release of onnx has.

    Args:
        release: `1.19.1`, or `1.19` for 1.19.0.

    Raises:
        UsageError: The installed onnx does not list this release.
    """
    opsets = {
        str(name): dict(zip(_DOMAINS, columns, strict=False))
        for name, _ir_version, *columns in helper.VERSION_TABLE
    }
    for name in (release, f"{release}.0"):
        if name in opsets:
            return opsets[name]
    known = [*opsets]
    hint = did_you_mean(release, known) or f"the installed onnx lists {known[0]} to {known[-1]}"
    raise UsageError(f"--onnx: no release {release!r} of onnx", hint)


def cases_of_release(cases: Iterable[Case], release: str) -> tuple[Case, ...]:
    """Return the cases at opsets that a release of onnx has, in their order.

    Cases of domains that are not ONNX's, such as DirectML's, are left out. Raises UsageError for a
    release that the installed onnx does not list.
    """
    opsets = opsets_of_release(release)
    return tuple(case for case in cases if case.opset <= opsets.get(case.op.domain, 0))
