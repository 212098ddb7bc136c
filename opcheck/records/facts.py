"""What two runs should have in common, to be held against each other or joined."""

from __future__ import annotations

from collections.abc import Mapping

from opcheck.model import BackendInfo, Header


def differences(old: Header, new: Header) -> dict[str, tuple[str, str]]:
    """What was not alike in the two runs, and how it was; an empty text where it was not at all."""
    was, now = _facts(old), _facts(new)
    both = {name: (was.get(name, ""), now.get(name, "")) for name in {**was, **now}}
    return {name: (one, other) for name, (one, other) in both.items() if one != other}


def rules(header: Header) -> Mapping[str, str]:
    """By what results were judged, beside the cases, in words; "" is the default."""
    return {
        "known defects": "applied" if header.known else "judged",
        "known failures": ", ".join(f"{name} ({said})" for name, said in header.ledgers.items()),
        "warnings": "red" if header.strict else "",
        "unsupported": "red" if header.require_supported else "",
        "seed": "" if header.seed is None else str(header.seed),
        **header.options,
    }


def _release(info: BackendInfo) -> str:
    """A backend's version, and what it goes by elsewhere."""
    return " ".join(filter(None, (info.of, info.version)))


def _facts(header: Header) -> Mapping[str, str]:
    about = header.environment
    shard = header.shard
    return {
        "opcheck": about.opcheck,
        "Python": about.python,
        "platform": about.platform,
        **{f"package {name}": version for name, version in about.packages.items()},
        **{f"backend {info.address}": _release(info) for info in header.backends},
        **{f"oracle {info.address}": _release(info) for info in header.oracles},
        "selection": header.selection,
        "paths": " ".join(header.paths),
        "shard": f"{shard[0]} of {shard[1]}" if shard else "",
        **rules(header),
    }
