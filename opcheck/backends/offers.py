"""The choices for `-b`, each tried in a process of its own, where it may break, hang or die."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias, cast

from opcheck import interrupt, model
from opcheck.backends.adapters import About
from opcheck.backends.address import Address, Profile, built_in, entry_points
from opcheck.backends.connect import adapter, version_of
from opcheck.backends.isolation.process import BackendSettings, Process, kill
from opcheck.backends.trust import UntrustedCode
from opcheck.errors import BackendUnavailable, OpcheckError, UsageError

Origin: TypeAlias = Literal["built in", "entry point", "profile", "argument"]


@dataclass(frozen=True)
class Offer:
    """A backend that can be asked for; once it was tried, it has an `info`, or an `error`."""

    profile: Profile
    origin: Origin
    about: About
    #: That of its distribution, "" without an installed one.
    version: str = ""
    #: It needs a detail that only its user knows.
    is_template: bool = False
    info: model.BackendInfo | None = None
    error: OpcheckError | None = None

    @property
    def name(self) -> str:
        """The address to write after -b."""
        return self.profile.name

    @property
    def state(self) -> Literal["ready", "not installed", "unusable", "template"]:
        """The state in a word; a template is no backend until somebody completes it."""
        if self.info:
            return "ready"
        if self.error is None:
            return "template"
        # Whether it can be imported counts: a package may also come under another name.
        absent = self.about.distribution is not None and not self.version
        return "not installed" if absent else "unusable"


def offers(profiles: Mapping[str, Profile]) -> tuple[list[Offer], list[OpcheckError]]:
    """Return all backends that have a name, and the errors of installed entry points.

    A profile that names code in a file that is not trusted has an error, and is not tried.
    """
    choices = [_of_kind(kind) for kind in built_in()]
    problems: list[OpcheckError] = []
    try:
        choices += [_of_kind(name) for name in sorted(entry_points())]
    except UsageError as error:
        problems.append(error)
    choices += [_of_profile(profile) for _, profile in sorted(profiles.items())]
    return choices, problems


def _of_profile(profile: Profile) -> Offer:
    of_profile = offer(profile, "profile")
    try:
        profile.require_trust(f"`opcheck backends {shlex.quote(profile.name)}`")
    except UntrustedCode as error:
        return replace(of_profile, error=error)
    return of_profile


def _of_kind(kind: str) -> Offer:
    profile = Profile(kind, Address(kind))
    if kind in built_in():
        about = about_kind(kind)
        version = version_of(about.distribution) if about.distribution else ""
        # The summary of a template shows what to write.
        return Offer(profile, "built in", about, version, is_template=f"{kind}:" in about.summary)
    point = entry_points()[kind]
    if point.dist is None:
        return Offer(profile, "entry point", About(point.value))
    package = point.dist.name
    version = point.dist.version
    about = About(f"offered by {package} {version}", package)
    return Offer(profile, "entry point", about, version)


def offer(profile: Profile, origin: Origin = "argument") -> Offer:
    """Return the offer of a profile, or of an address that `address.resolve` made one."""
    address = str(profile.address)
    kin = _of_kind(profile.address.kind)
    about = kin.about
    if profile.name != address:
        about = replace(about, summary=f"profile of {address}")
    return Offer(profile, origin, about, kin.version)


def tried(chosen: Sequence[Offer], scratch: Path, seconds: float) -> list[Offer]:
    """Connect all offers, in processes that end with this call and `seconds`.

    Templates, and offers that have an error already, stay as they are.
    """
    started: list[tuple[Offer, Process | None]] = []
    until = monotonic() + seconds

    def connected(candidate: Offer, process: Process) -> Offer:
        try:
            info = process.greeting()
            while info is None:
                if monotonic() > until:
                    message = f"backend {candidate.name!r} has not started within {seconds:g} s"
                    raise BackendUnavailable(process.killed(message), "--timeout gives it longer")
                process.connection.poll(0.05)
                interrupt.safe_place()
                info = process.greeting()
            return replace(candidate, info=info)
        except OpcheckError as error:
            return replace(candidate, error=error)

    try:
        for candidate in chosen:
            settings = BackendSettings(
                address=str(candidate.profile.address),
                scratch=scratch,
                environment=candidate.profile.environment,
                start_timeout=inf,
                name=candidate.name,
            )
            is_startable = not candidate.is_template and candidate.error is None
            started.append((candidate, Process(settings) if is_startable else None))
        return [connected(offer, process) if process else offer for offer, process in started]
    finally:
        kill([process for _, process in started if process])


def about_kind(kind: str) -> About:
    """Return the description of a kind; empty where it is not built in."""
    return cast(About, adapter(kind).ABOUT) if kind in built_in() else About("")
