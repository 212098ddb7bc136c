"""Look at what of a machine changes verdicts, without asking any backend.

The locale, the processor's instructions, and threads decide answers of some engines. `look` returns
what is here, and `remarks` which of it matters for the backends and operators of a run. `in_ci`
tells a gate's machine from a person's.
"""

import ctypes
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from opcheck import interrupt

#: The locale by which ONNX Runtime changes the case of texts unless a node names another one.
LOCALE = "en_US.UTF-8"
_CPUINFO = Path("/proc/cpuinfo")
#: Features of processors that change answers, by the kernel's names for them.
_FEATURES: Mapping[str, Collection[str]] = {
    "AVX2": ("avx2",),
    "AVX-512": ("avx512f",),
    "AVX-512 BF16": ("avx512_bf16",),
    "AVX-512 FP16": ("avx512_fp16",),
    "AMX BF16": ("amx_bf16",),
    "NEON FP16": ("asimdhp",),
    "NEON BF16": ("bf16",),
}
#: With one of them, an engine may compute float32 in bfloat16 unless it is told otherwise.
_BFLOAT16 = frozenset({"AVX-512 BF16", "AMX BF16", "NEON BF16"})
#: glibc's mask of all categories of a locale.
_ALL_CATEGORIES = 0x1FBF
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def in_ci() -> bool:
    """Return True where the environment variable CI is set, and not to `0` or `false`."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def look() -> dict[str, str]:
    """Return the machine's locale, instructions, default precision, processors and threads."""
    features = processor_features()
    threads = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    return {
        "locale": f"{LOCALE} {'is there' if has_locale() else 'is missing'}",
        "instructions": ", ".join(features) or "unknown",
        "bfloat16": "computed" if _BFLOAT16 & {*features} else "not computed",
        "processors": str(interrupt.processors()),
        "threads": ", ".join(threads) or "not set",
    }


def remarks(kinds: Collection[str], operators: Collection[str]) -> tuple[str, ...]:
    """Return what of this machine changes verdicts of a run.

    Args:
        kinds: The kinds of its backends, such as "onnxruntime".
        operators: The names of its operators.
    """
    return tuple(_remarks(kinds, operators))


def _remarks(kinds: Collection[str], operators: Collection[str]) -> Iterator[str]:
    if "onnxruntime" in kinds and "StringNormalizer" in operators and not has_locale():
        yield (
            f"no locale {LOCALE} here: onnxruntime declines StringNormalizer that changes case; "
            "install the system's package of locales"
        )
    if "openvino" in kinds and _BFLOAT16 & {*processor_features()}:
        yield (
            "this processor computes in bfloat16: openvino does so with float32 by default; "
            "-b 'openvino?precision=f32' keeps float32"
        )


def has_locale(name: str = LOCALE) -> bool:
    """Return True if the C library has the locale, or on systems where it cannot be asked."""
    if sys.platform != "linux":
        return True
    library = ctypes.CDLL(None)
    library.newlocale.restype = ctypes.c_void_p
    library.newlocale.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    library.freelocale.argtypes = [ctypes.c_void_p]
    found = library.newlocale(_ALL_CATEGORIES, name.encode(), None)
    if found:
        library.freelocale(found)
    return bool(found)


def processor_features(cpuinfo: Path = _CPUINFO) -> list[str]:
    """Return the features of the processor that change answers; none where they are unknown."""
    fields = processor_fields(cpuinfo)
    flags = {*(fields.get("flags") or fields.get("Features", "")).split()}
    return [name for name, any_of in _FEATURES.items() if flags.intersection(any_of)]


@cache
def processor_fields(cpuinfo: Path = _CPUINFO) -> Mapping[str, str]:
    """Return what the system says of the first processor, by the kernel's names; else nothing."""
    fields: dict[str, str] = {}
    with suppress(OSError):
        for line in cpuinfo.read_text("utf-8").splitlines():
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
    return fields
