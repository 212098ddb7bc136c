"""How many examples Hypothesis draws: all in a run of the whole, a third of them otherwise."""

import os
from typing import Any

from hypothesis import settings

#: Profiles of Hypothesis: `whole` is for `.ci/whole`, `quick` for everything else.
WHOLE = "whole"
QUICK = "quick"
PROFILE = WHOLE if os.environ.get("OPCHECK_PART") == "whole" else QUICK
#: Of so many examples of the profile `whole`, `quick` draws one.
SHARE = 3
#: As many as Hypothesis draws by default.
_DEFAULT = 100


def scaled(count: int) -> int:
    """The examples to draw in this run where `whole` draws `count`."""
    return count if PROFILE == WHOLE else max(count // SHARE, 1)


def examples(count: int, **others: Any) -> settings:
    """Settings of a test for which `whole` draws `count` examples, with `others` of Hypothesis."""
    return settings(max_examples=scaled(count), **others)


def load_profile() -> None:
    """Register the profiles, and load that of this run."""
    for name, count in ((WHOLE, _DEFAULT), (QUICK, _DEFAULT // SHARE)):
        # How long an example takes depends on the machine, and on what else runs there. The same
        # examples come in every run: a gate must not turn red by chance.
        settings.register_profile(name, max_examples=count, deadline=None, derandomize=True)
    settings.load_profile(PROFILE)
