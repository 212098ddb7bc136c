"""The colour of each verdict; every report also says the verdict in words."""

from opcheck.model import Verdict

COLOURS = {
    Verdict.PASS: "green",
    Verdict.KNOWN: "cyan",
    Verdict.WARN: "yellow",
    Verdict.FAIL: "red",
    Verdict.ERROR: "red",
    Verdict.UNSTABLE: "red",
    Verdict.UNSUPPORTED: "bright_black",
    Verdict.NOT_RUN: "bright_black",
    Verdict.BAD_CASE: "magenta",
}
