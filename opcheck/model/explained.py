"""What a name that opcheck prints means."""

from collections.abc import Mapping
from dataclasses import dataclass

from opcheck.model.result import Failure, Verdict

#: What each verdict means, and what to do about it.
VERDICTS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.PASS: (
        "The output is right; or an invalid model is refused, and its legal twin is accepted.",
        "",
    ),
    Verdict.KNOWN: (
        "It fails as a ledger lists it, a shipped one or yours. The run stays green.",
        "--no-known judges it as if no shipped ledger were there.",
    ),
    Verdict.WARN: (
        "It is wrong, but a sound backend may differ (rule: should); or it is right only by a"
        " poorer arithmetic than the type's.",
        "If the arithmetic is meant, declare it (?accumulate=float16). --strict makes it red.",
    ),
    Verdict.FAIL: (
        "An output has a wrong value, type, shape or number; or an invalid model is accepted.",
        "The line after *likely cause* names the mistakes that give just this answer; the line"
        " *repeat* runs the case alone.",
    ),
    Verdict.DIFFER: (
        "Backends disagree on a case without a known answer (expect: {agree: true}).",
        "State the answer, or find out which backend is wrong.",
    ),
    Verdict.ERROR: (
        "An exception on a legal model.",
        "If the operator, type or attribute is not there, raise opcheck.errors.NotSupported:"
        " that is *unsupported*.",
    ),
    Verdict.CRASH: ("The process of the backend died.", "The line *repeat* shows it alone."),
    Verdict.TIMEOUT: (
        "The backend took longer than a case may take.",
        "--timeout, or `timeout` in its profile, allows more.",
    ),
    Verdict.OOM: (
        "The backend took more memory than it may.",
        "--memory-limit, or `memory_limit` in its profile, allows more.",
    ),
    Verdict.UNSTABLE: (
        "Runs on the same data differ, and at least one is wrong.",
        "Look for uninitialized memory, and for state that is kept between runs.",
    ),
    Verdict.UNEXPECTED_PASS: (
        "It is right, although your ledger lists it as a failure.",
        "Delete its line, or run with --update-known FILE --prune-known.",
    ),
    Verdict.UNSUPPORTED: (
        "The backend says that it does not implement this, or opcheck cannot ask or judge it.",
        "-v shows the reasons; --require-supported makes it red.",
    ),
    Verdict.NOT_RUN: (
        "There is no answer: saved outputs are missing, or the backend could not be started.",
        "The exit code is 4: mend the backend's environment, then run again.",
    ),
    Verdict.BAD_CASE: (
        "The case contradicts itself or opcheck's engine: no backend can be judged by it.",
        "The exit code is 2: mend the case.",
    ),
}
#: What each way to fail means.
FAILURES: Mapping[Failure, str] = {
    "count": "Another number of outputs than the model has.",
    "type": "An output that is no tensor, sequence or optional as the model has it.",
    "dtype": "An output of another element type.",
    "shape": "An output of another shape.",
    "values": "Wrong elements of an output.",
    "other_data": "Wrong on the other data of the second run alone: something was kept.",
    "distribution": "Random numbers of another distribution.",
    "precision": "Right only by a poorer arithmetic than the type's.",
    "declared": "An output unlike the one that the backend declared.",
    "accepted": "An invalid model was accepted.",
    "raised": "A legal model was refused.",
    "crash": "The process died.",
    "stray_crash": "An earlier case made the process die.",
    "timeout": "The time for a case ran out.",
    "oom": "The process took more memory than it may.",
    "unstable": "Runs on the same data differ.",
}


@dataclass(frozen=True)
class Explanation:
    """What one name means: a title, and labelled paragraphs in their order."""

    title: str
    lines: tuple[tuple[str, str], ...]
