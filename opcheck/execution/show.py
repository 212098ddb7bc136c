"""What a backend is asked by one case, and which answers are right: for `opcheck show`.

What evaluates a formula raises WrongOperator if the file that declares the operator is wrong.
"""

from opcheck import model
from opcheck.compare import verdict
from opcheck.compare.elements import Want
from opcheck.compare.outputs import in_its_dtype
from opcheck.execution import expected, golden
from opcheck.model import Case
from opcheck.model.shown import RightAnswer, RightOutput, ShownCase


def shown(case: Case) -> ShownCase:
    """Return the case with its question and the answers that it admits.

    Nothing is raised for a case that cannot be asked, or whose answer is not known: `problem` says
    why, "" otherwise. Raises UsageError if a file of a model's weights has changed, and
    NotSupported where a bound takes more than opcheck computes.
    """
    try:
        question = expected.question(case)
    except (ValueError, MemoryError) as error:
        return ShownCase(case, None, (), str(error) or "its data take too much memory")
    if case.expect.oracle:
        return ShownCase(case, question, (), f"right is what {case.expect.oracle} answers")
    if case.expect.compares_backends:
        return ShownCase(case, question, (), "all backends of a run must answer alike")
    try:
        admitted = expected.accepted_answers(case, question)
        answers = tuple(_right_answer(case, answer) for answer in admitted)
    except (ValueError, MemoryError) as error:
        return ShownCase(case, question, (), str(error) or "the answer takes too much memory")
    return ShownCase(case, question, answers)


def _right_answer(case: Case, admitted: verdict.Admitted) -> RightAnswer:
    """Return an admitted answer with the lowest and the highest right value of each element.

    A refusal has its reason instead. An answer also names the readings of the text, the ways to
    understand what it leaves open, that its elements may mix. Raises ValueError for values without
    a stated dtype, MemoryError, and what the operator's formula raises for a bound.
    """
    if isinstance(admitted, verdict.Refusal):
        return RightAnswer(admitted.name, refusal=admitted.reason)
    outputs = tuple(_right_output(want, case.tolerance) for want in admitted.wants)
    others = {name: None for want in admitted.wants for name, _ in want.others}
    return RightAnswer(admitted.name, outputs, mixed=tuple(others))


def _right_output(want: Want, tolerance: model.Tolerance | None) -> RightOutput:
    """Return one output with its lowest and highest right values, by tolerance or bound.

    Of random numbers only the shape is right: all three are the medians, or what the case states.
    Elements that no text defines have what opcheck computes in their place.
    Raises ValueError for values without a stated dtype, MemoryError, and what the operator's
    formula raises for a bound.
    """
    written = in_its_dtype(want)
    if want.random:
        return RightOutput(want.name, written, written, written, "random numbers")
    around = golden.ends(want, written, tolerance)
    return RightOutput(
        name=want.name,
        values=written,
        lowest=around.lowest,
        highest=around.highest,
        form=want.form,
        undefined=want.undefined,
    )
