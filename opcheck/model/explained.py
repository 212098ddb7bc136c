"""What a name that opcheck prints means."""

from collections.abc import Mapping
from dataclasses import dataclass

from opcheck.model.result import Failure, Fate, Verdict

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
#: What becomes of a mutant under the cases.
FATES: Mapping[Fate, str] = {
    Fate.KILLED: "a case fails that a right backend passes",
    Fate.WARNED: "cases only warn of it, or fail where the text does not decide",
    Fate.HARMLESS: "no input shows it, by an argument that -v prints",
    Fate.SURVIVED: "no case shows it",
}
_FATES = {str(fate): f"Of a mutant: {text}." for fate, text in FATES.items()}
#: How the cause of all invalid models that a backend accepts begins.
ACCEPTING = "accepts invalid models"
#: Other words that outputs print, by what they are: a name and its meaning.
WORDS: Mapping[str, Mapping[str, str]] = {
    "level": {
        "smoke": "Few small cases of each operator: a first look.",
        "core": "The cases that find nearly all mistakes; the default of `opcheck run`.",
        "deep": "All cases: every type and version, and large inputs.",
        "huge": "Cases with indices beyond 2^31; only --level huge runs them.",
    },
    "cause": {
        ACCEPTING: "The backend answered models that the specification forbids, and should have"
        " refused them. A library that leaves that to its caller says so by ?refuses=false in its"
        " address: such cases are then unsupported.",
    },
    "rule": {
        "must": "The specification decides: a deviation fails.",
        "should": "A deviation is a warning, for a reason that the case states.",
        "open": "The specification leaves it open: several answers are right.",
    },
    "expected answer": {
        "literal": "It is written in the case.",
        "computed": "opcheck's engine computes it, with an error bound for each element.",
        "agreement": "All backends of the run must answer alike.",
        "rejected": "The model is invalid and must be refused.",
        "oracle": "Another backend gives it.",
        "golden": "It is read from a folder with test data.",
        "any of": "One of several answers is right.",
    },
    "line of a failure": {
        "asked": "The operator, its opset, attributes and inputs.",
        "clause": "The sentence of the specification that the case tests.",
        "ruling": "How opcheck reads that sentence where it leaves something open.",
        "rule": "How binding the case is, if it is not must.",
        "found": "What the backend did, and what is wrong with it.",
        "times": "Of a repeated case: how often it came out how.",
        "likely": "A mistake that gives just this answer, or a property of the cases that fail so.",
        "so far": "What is likely by the results until then, while the run goes on: later ones may"
        " speak against it. The causes at the end, and `opcheck report`, rest on all results.",
        "or": "Another mistake that gives the same answer.",
        "ledger": "What a ledger lists of the case, where it came out otherwise.",
        "cause": "Why the case is a known failure, by the ledger.",
        "where": "Which elements of an output are wrong, and the worst of them.",
        "doubt": "How many elements a right backend may miss by half of their value, so that they"
        " decide nothing.",
        "printed": "What the backend printed meanwhile.",
        "trace": "The traceback of the backend's exception.",
        "written": "The place of the case in its file.",
        "show": "The command that shows the case with its right answers.",
        "repeat": "The command that runs this case alone.",
        "locate": "The command that finds the first wrong node of a model.",
    },
    "line of opcheck locate": {
        "the model": "The verdict on the whole model's answer.",
        "nodes": "How many nodes were judged on the inputs that the backend computed for them, with"
        " their verdicts.",
        "branches": "How many If were judged by the nodes of the branch that was taken.",
        "around": "Nodes that could not be judged, and why; those behind them were.",
        "exposed": "What the backend does if inner tensors are outputs of the model.",
        "alone": "How to judge nodes of which the backend gave no results in the model.",
    },
    "column of wrong elements": {
        "index": "The place of the element, from 0.",
        "input": "The element of the first input of this shape at that place.",
        "want": "The right value.",
        "theirs": "The value of the other backends.",
        "oracle": "The value of the backend that the case takes for right.",
        "got": "The backend's value.",
        "ULP": "The distance of the two in steps of the type, from one number to the next.",
        "allowed": "How far the value may lie from the right one, or what else is right.",
    },
    "row of a run's tables": {
        "all": "All operators of the run.",
        "others": "Operators without a row of their own: they have fewer wrong results.",
        "with nothing judged": "Operators of which no case was judged: the backends lack them.",
    },
    "column of a run's tables": {
        "cases": "How many cases.",
        "likely cause": "A mistake that gives just these answers, or what these cases have in"
        " common and no others have, with the counts.",
        "where": "The operators and versions.",
        "reason": "Why a result is so, of several the first.",
        "wrong / judged": "Cases that the backend answers wrongly, of those with a verdict on its"
        " answer; listed failures count as wrong.",
        "self": "opcheck's engine, compared with its own answers: not evidence.",
        "used": "The largest error of a pass, as a part of the allowed one; 1 is at the limit.",
        "answer": "Which of several right answers the backend gives.",
        "backend": "The address or profile of a backend, and its version.",
    },
    "column of opcheck mutate": {
        "mutant": "A wrong implementation that is planted to see if a case notices.",
        "mutants": "How many of them.",
        **_FATES,
        "contradiction": "An argument calls a mutant harmless, and a case kills it: one of both is"
        " wrong.",
        "score": "Killed and warned, as a part of all that are not harmless.",
        "argued": "The argument that a mutant is harmless.",
        "because": "The argument that a mutant is harmless.",
        "but": "The case that contradicts that argument.",
        "in": "The versions and types in which the mutant is planted.",
        "seen": "Another version or type in which a case notices the mutant.",
        "shipped": "The smallest shipped case that kills the mutant.",
        "case": "The first case that fails, or warns.",
        "operator": "An operator with the version that its opset has in force.",
    },
    "column of opcheck support": {
        "right": "Cells that are right, of all cells of the operator.",
        "cells": "Cells: a version of an operator with an element type.",
        "otherwise": "What cells that are not right are, and which.",
        "first of them": "The first cell for which the reason holds.",
        "why": "The reason, in the backend's words.",
        "not tested": "opcheck has no model for the cell.",
        "refuses": "An error on a valid model.",
    },
    "column of opcheck list --clauses": {
        "sentence": "A sentence of the operator's specification.",
        "tested by": "Cases that test the sentence.",
    },
    "column of opcheck backends": {
        "version": "The version of the backend's package.",
        "threads": "The number of threads that it computes with.",
        "devices": "The devices that it can use, the one in use first.",
        "what it is": "What a kind of backend runs.",
        "not installed": "Kinds of backends whose package is missing.",
        "install it with": "The command that installs the package.",
        "needs a detail": "Kinds whose address needs something behind a colon.",
    },
    "column of opcheck bench": {
        "median": "The median time of a run.",
        "spread": "How far the times of one process lie apart.",
        "ratio": "The time as a multiple of the baseline's.",
        "ratio to old": "The new time as a multiple of the old one.",
        "95 % interval": "Where the ratio lies with a probability of 95 %.",
        "verdict": "faster, slower, same or unclear, by that interval.",
        "GB/s": "Inputs and outputs that are moved, by time.",
        "of copy": "That rate as a part of the rate of a plain copy.",
        "prepared": "The time that preparing the model takes.",
        "p": "The probability of so large a difference without any change.",
        "new / old": "The new time as a multiple of the old one.",
        "new": "The later run or benchmark.",
        "old": "The earlier run or benchmark, with which the new one is compared.",
    },
    "verdict on a time": {
        "baseline": "Ratios are to the times of this backend.",
        "faster": "All of the interval is below the baseline by more than noise.",
        "slower": "All of the interval is above the baseline by more than noise.",
        "same": "The interval is narrow, and around the baseline.",
        "unclear": "The interval is too wide to tell: time it longer, or on a quiet machine.",
    },
    "option of an address": {
        "accumulate": "Declares a narrower arithmetic, as in onnxruntime?accumulate=float16: what"
        " only that arithmetic explains then passes without a warning.",
        "refuses": "refuses=false declares that a library does not validate models: cases that"
        " expect a refusal are then unsupported.",
    },
    "arithmetic": {
        "range": "The arithmetic of the type, by which intermediate results may also leave its"
        " range: an error that it explains is a warning.",
    },
    "change between two runs": {
        "newly failing": "It passed, and is wrong now.",
        "failing, and no longer as known": "It was a known failure, and is not listed so any more.",
        "no longer supported": "It was judged, and is unsupported now.",
        "no longer run": "It has no answer now.",
        "the case is wrong now": "The case contradicts itself now.",
        "missing": "NEW covers the case, and has no result of it.",
        "newly passing": "It failed, and passes now.",
        "failing otherwise": "It fails in both runs, in two ways.",
        "known now": "It fails in both runs, and a ledger lists it now.",
        "warning now": "It passed, and is a warning now.",
        "warning no longer": "It was a warning, and passes now.",
        "answering otherwise where several answers are right": "Both answers are right.",
        "unsupported now, and not right before": "It failed, and is unsupported now.",
        "another case now, not compared": "The case was edited.",
        "compared with itself now": "The backend of NEW is opcheck's engine or the case's oracle, "
        "whose passes prove nothing.",
        "no longer asked by this release": "A case of opcheck's own suites that its release of NEW"
        " does not ask by this command: it may be at level deep now.",
        "new, and not failing": "OLD does not have the case.",
    },
    "exit code": {
        "exit 0": "All is as it should be.",
        "exit 1": "Something fails.",
        "exit 2": "The command or a file is wrong: nothing was judged.",
        "exit 3": "A backend is slower than allowed.",
        "exit 4": "A backend or a file could not be used, or results are missing.",
        "exit 5": "Nothing was judged, or nothing could be compared.",
        "exit 130": "It was interrupted.",
    },
}


@dataclass(frozen=True)
class Explanation:
    """What one name means: a title, and labelled paragraphs in their order."""

    title: str
    lines: tuple[tuple[str, str], ...]
