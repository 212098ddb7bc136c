"""The words of causes: exceptions, messages and conditions as parts of sentences."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from opcheck.diagnose.results import WITH_MESSAGE, DiagnosedResult
from opcheck.diagnose.rules import Condition

#: Length to which a message is shown, and that of an exception.
_SHOWN = 60
_SHOWN_EXCEPTION = 160
#: How the cause begins of what is too large to be compared.
PROBABLY = "probably as in smaller cases: "


def exceptions_in_words(results: Iterable[DiagnosedResult]) -> dict[str, str]:
    """Return the exceptions of `results` in words, by their messages without particulars.

    The words, cut to 160 letters, have the particulars if all exceptions of that message have the
    same. Results that did not raise are left out.
    """
    whole: dict[str, set[str]] = defaultdict(set)
    for result in results:
        if result.record.failure == "raised":
            whole[result.message].add(" ".join(result.own_message.split()))
    return {
        message: _cut(only.pop() if len(only) == 1 else message, _SHOWN_EXCEPTION)
        for message, only in whole.items()
    }


def where_clause(condition: Condition) -> str:
    """Describe a condition, to be appended to what happens under it."""
    return f" where {condition.text}" if condition.text else " in every case"


def with_particulars(group: Sequence[DiagnosedResult], message: str) -> str:
    """Return the backend's own message if all of a group have just this one, else `message`.

    So a time limit is named with its seconds, `no answer within 30 s`.
    """
    own = {" ".join(result.own_message.split()) for result in group}
    is_one_kind = message and len(own) == 1 and group[0].record.failure in WITH_MESSAGE
    return own.pop() if is_one_kind else message


def in_brackets(message: str) -> str:
    """Return a message in brackets, cut, to be appended; "" for none."""
    return f" ({_cut(message, _SHOWN)})" if message else ""


def _cut(message: str, longest: int) -> str:
    """Return a message with "?" in place of letters that do not print.

    If it has more than `longest` letters, " …" is in place of the rest.
    """
    printable = "".join(letter if letter.isprintable() else "?" for letter in message)
    return f"{printable[:longest]} …" if len(printable) > longest else printable
