"""What a name means that opcheck prints: a verdict, mistake, defect, operator or backend.

What reads shipped ledgers raises CaseFileError if one is wrong, what reads an operator raises
WrongOperator if the file that declares it is.
"""

import re
from collections.abc import Iterator

from opcheck import clauses, opset, reading
from opcheck.backends.address import built_in
from opcheck.backends.offers import about_kind
from opcheck.diagnose import fitted
from opcheck.diagnose.faults import FAULTS
from opcheck.diagnose.suspects import NOT_CHECKED
from opcheck.engine import operators
from opcheck.engine.all_rulings import all_rulings
from opcheck.engine.mutants import Mutant, causes_of
from opcheck.engine.readings import Ruling
from opcheck.errors import UsageError, did_you_mean
from opcheck.execution.mutate import all_mutants
from opcheck.known import Line, shipped_ledgers
from opcheck.model import OpVersion, Verdict
from opcheck.model.explained import FAILURES, VERDICTS, WORDS, Explanation
from opcheck.suite import load

#: Fewer words than this are a name and no sentence.
_LEAST_WORDS = 3
#: The version behind an operator's name.
_VERSION = re.compile(r"-\d+$")
#: The most operators that are named.
_NAMED = 12


def explanations(name: str) -> list[Explanation]:
    """Return what a name means; several if it has several meanings, or names mistakes with "+".

    Only a name without another meaning is looked up among rulings, else among mistakes, and else,
    if it has three words, as a part of sentences. Raises UsageError for one that opcheck does not
    know.
    """
    if "+" in name and " " not in name:
        return [one for part in name.split("+") for one in explanations(part)]
    meanings = [
        *_verdict(name),
        *_failure(name),
        *_word(name),
        *_defect(name),
        *_operator(name),
        *_backend(name),
        *_fault(name),
    ]
    # The rest needs all operators.
    if not meanings:
        meanings = [*_ruling(name)]
    if not meanings:
        meanings = [*_mistake(name)]
    if not meanings and len(name.split()) >= _LEAST_WORDS:
        meanings = [*_sentences(name)]
    if not meanings:
        raise UsageError(f"{name!r} is no name that opcheck prints", _hint(name))
    return meanings


def _verdict(name: str) -> Iterator[Explanation]:
    """Yield what the verdict of this name means, in any case of letters; at most one."""
    word = name.lower().replace("_", " ")
    for verdict, (meaning, action) in VERDICTS.items():
        if verdict == word:
            yield Explanation(f"verdict {verdict}", (("means", meaning), ("do", action)))


def _failure(name: str) -> Iterator[Explanation]:
    """Yield what the failure of this name means, unless it is called like a verdict."""
    for failure, meaning in FAILURES.items():
        if failure == name.lower() and failure not in {*Verdict}:
            yield Explanation(f"failure {failure}", (("means", meaning),))


def _word(name: str) -> Iterator[Explanation]:
    """Yield what the level, label, column or other word of this name means, in any case."""
    for kind, meanings in WORDS.items():
        for word, meaning in meanings.items():
            if word.lower() == name.lower():
                yield Explanation(f"{kind}: {word}", (("means", meaning),))


def _defect(name: str) -> Iterator[Explanation]:
    """Yield the line of a shipped ledger with this id, or what became of it if it is retired."""
    for ledger in shipped_ledgers():
        for line in ledger.fields.known:
            if line.id == name.upper():
                yield Explanation(f"defect {line.id}", tuple(_about_defect(line)))
        for retired, heirs in ledger.fields.retired.items():
            if retired == name.upper():
                heir = f"see {', '.join(heirs)}" if heirs else "it is no defect, or is mended"
                yield Explanation(f"defect {retired}", (("retired", heir),))


def _about_defect(line: Line) -> Iterator[tuple[str, str]]:
    """Yield labels and texts of a ledger's line: cause, versions, links, operators; "" for none."""
    yield "cause", line.cause
    yield "versions", line.versions
    yield "failure", ", ".join(line.failure)
    for label in ("same_as", "ruling", "documented", "implemented", "erratum", "upstream", "link"):
        yield label.replace("_", " "), getattr(line, label) or ""
    ops = list(dict.fromkeys(op for place in line.where for op in place.ops))
    yield "operators", _listed(ops)
    if ops:
        yield "see", f"opcheck run --op {ops[0]} --no-known"


def _operator(name: str) -> Iterator[Explanation]:
    """Yield the versions of an operator of this name, in any case of letters; at most one item.

    With them come the number of its shipped cases, and commands about it. A version behind the
    name, as in Softmax-13, does not matter.
    """
    wanted = _VERSION.sub("", name.lower())
    for op in reading.shipped_operators():
        if op.lower() != wanted:
            continue
        cases = load((), [op])
        versions = sorted({case.op for case in cases})
        listed = ", ".join(f"{version.since}" for version in versions)
        yield Explanation(
            f"operator {op}",
            (
                ("versions", listed),
                ("cases", f"{len(cases):,}: opcheck list --op {op}"),
                ("sentences", f"opcheck list --clauses --op {op}"),
                ("judge", f"opcheck run --op {op} -b BACKEND"),
            ),
        )


def _backend(name: str) -> Iterator[Explanation]:
    """Yield what a built-in kind of backend runs; at most one item."""
    if name in built_in():
        lines = (("means", about_kind(name).summary), ("state", "opcheck doctor"))
        yield Explanation(f"backend {name}", lines)


def _fault(name: str) -> Iterator[Explanation]:
    """Yield what the mistake of this name is, if it is one of any operator; at most one."""
    text = FAULTS[name].text if name in FAULTS else ""
    if name == NOT_CHECKED.mistake:
        text = NOT_CHECKED.text
    if text:
        yield _about_mistake(name, text, "all", is_asked=False)


def _ruling(name: str) -> Iterator[Explanation]:
    """Yield the ruling of this id, as `docs/rulings.md` has it."""
    for ruling in all_rulings():
        if ruling.id == name.lower():
            yield _about_ruling(ruling)


def _about_ruling(ruling: Ruling) -> Explanation:
    """Return the explanation of a ruling: what is left open, and the readings of it."""
    scope = "each element may follow another" if ruling.by_element else "one binds all outputs"
    readings = ", ".join(ruling.readings)
    return Explanation(
        f"ruling {ruling.id}",
        (("open", ruling.text), ("readings", f"{readings}; {scope}; a backend may follow any")),
    )


def _mistake(name: str) -> Iterator[Explanation]:
    """Yield the mistakes of this name, with the operators that have them.

    Many are of a function that formulas call, such as a maximum, whatever the operator.
    """
    own: dict[str, list[str]] = {}
    shared: dict[str, str] = {}
    derived: dict[str, list[str]] = {}
    for operator in operators.every():
        is_own = any(mutant.name == name for mutant in operator.mutants)
        for since in operator.formulas:
            op = OpVersion(operator.domain, operator.name, since)
            for mutant in all_mutants(op):
                if name in mutant.names and is_own:
                    own.setdefault(mutant.text, []).append(operator.name)
                elif name in mutant.names:
                    shared[mutant.text] = mutant.primitive
            for cause in _derived(op, name):
                derived.setdefault(cause.text, []).append(operator.name)
    for text, names in own.items():
        yield _about_mistake(name, text, _listed([*dict.fromkeys(names)]))
    for text, primitive in shared.items():
        called = f"those whose formulas call {primitive}" if primitive else "many"
        yield _about_mistake(name, text, called)
    if not own and not shared:
        for text, names in derived.items():
            yield _about_mistake(name, text, _listed([*dict.fromkeys(names)]), is_asked=False)


def _derived(op: OpVersion, name: str) -> Iterator[Mutant]:
    """Yield the mistakes of this name that suites are not asked about, of a version."""
    constant = fitted.named(op, name)
    if constant is not None:
        yield constant
    yield from (cause for cause in causes_of(op) if name in cause.names)


def _about_mistake(name: str, text: str, ops: str, *, is_asked: bool = True) -> Explanation:
    """Return the explanation of the mutant `name`: `text` says what it does wrong, `ops` where.

    Only where suites are asked about it, a command shows it.
    """
    lines = [("means", f"{text[:1].upper()}{text[1:]}."), ("operators", ops)]
    if is_asked:
        lines.append(("shown by", f"opcheck mutate --op OPERATOR --mutant {name} -v"))
    return Explanation(f"mistake {name}", tuple(lines))


def _sentences(text: str) -> Iterator[Explanation]:
    """Yield the sentences of specifications that hold a text, each once for an operator."""
    wanted = _plain(text)
    for domain in opset.domains():
        for op in opset.operators(domain):
            pages = clauses.pages_of(domain, op)
            versions: dict[tuple[str, str], list[int]] = {}
            for since, sentences in (pages.versions if pages else {}).items():
                for sentence in sentences:
                    if wanted in _plain(sentence.text):
                        key = sentence.text, sentence.ruling or ""
                        versions.setdefault(key, []).append(since)
            for (sentence_text, ruling), since_all in versions.items():
                listed = ", ".join(map(str, since_all))
                yield Explanation(
                    f"sentence of {op}, version {listed}",
                    (
                        ("text", f"“{sentence_text}”"),
                        ("ruling", ruling),
                        ("tested by", f"opcheck list --clauses --op {op}"),
                    ),
                )


def _plain(text: str) -> str:
    """Return a text in small letters, with a space for all that is not a letter or digit."""
    return re.sub(r"\W+", " ", text).strip().lower()


def _listed(names: list[str]) -> str:
    """Join names with commas; of more than 12, the first 12 and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _hint(name: str) -> str:
    """Return what the name may have been meant to be, or else what kinds of names there are."""
    ids = [line.id or "" for ledger in shipped_ledgers() for line in ledger.fields.known]
    rulings = [ruling.id for ruling in all_rulings()]
    words = [word for meanings in WORDS.values() for word in meanings]
    names = [*words, *reading.shipped_operators(), *built_in(), *ids, *rulings]
    known = [*VERDICTS, *FAILURES, *names]
    kinds = (
        "a case, a verdict, a mistake, a defect such as ORT-0001, a ruling, an operator, a column"
    )
    return did_you_mean(name, map(str, known)) or f"name {kinds}, or a sentence of a text"
