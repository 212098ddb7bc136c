"""Whole models in which nodes have no answer: the outputs that do not depend on these.

A model of which a node is not implemented, or not defined by its text, has no answer as a whole. A
backend that gives another output wrongly is wrong nevertheless.
"""

from dataclasses import dataclass, replace

from opcheck.compare import verdict
from opcheck.engine.graphs import node_without, outputs_of
from opcheck.engine.readings import MAX_ANSWERS
from opcheck.execution.expected import TooLarge, Unsupported, answers_of, node_of
from opcheck.model import Case, Produced, Question


@dataclass(frozen=True)
class PartOfModel:
    """The outputs of a model that depend on no node without an answer.

    Attributes:
        names: The names of these outputs.
        places: Their places among the outputs of the model.
        answers: Their admitted answers, with bounds.
        reason: Which nodes have no answer, and why.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    answers: tuple[verdict.Admitted, ...]
    reason: str

    def of(self, outcome: Produced) -> Produced | None:
        """Return what a backend gave of these outputs alone; None if an output is missing."""
        if max(self.places) >= len(outcome.outputs):
            return None
        declared = outcome.declared
        is_whole = len(declared) == len(outcome.outputs)
        return replace(
            outcome,
            outputs=tuple(outcome.outputs[place] for place in self.places),
            again=outcome.again and tuple(outcome.again[place] for place in self.places),
            between=None,
            declared=tuple(declared[place] for place in self.places) if is_whole else (),
        )


def part_of_model(case: Case, asked: Question) -> PartOfModel | None:
    """Return what is known of a whole model in which nodes have no answer; None for no output.

    None too if its answer is missing for another reason, and if more nodes than MAX_ANSWERS have
    none. Raises WrongCase if the text forbids a node, TooLarge if the answer takes more than
    opcheck computes, MemoryError if it does not fit into memory, UsageError if a file of weights
    has changed.
    """
    node = node_of(asked.task, asked.inputs)
    names = outputs_of(node)
    reasons: list[str] = []
    while len(reasons) < MAX_ANSWERS:
        left = outputs_of(node)
        places = tuple(place for place, name in enumerate(names) if name in left)
        if not places:
            return None
        outputs = tuple(case.outputs[place] for place in places)
        try:
            answers = answers_of(replace(case, outputs=outputs), node)
        except TooLarge:
            raise
        except Unsupported as error:
            if error.number is None:
                return None
            reasons.append(str(error))
            node = node_without(node, error.number)
            continue
        of_whole = tuple(map(_of_whole_model, answers))
        of_case = tuple(output.name for output in outputs)
        return PartOfModel(of_case, places, of_whole, "; ".join(reasons))
    return None


def _of_whole_model(answer: verdict.Admitted) -> verdict.Admitted:
    """Return an answer marked as that of a whole model, whose scatter is judged."""
    if not isinstance(answer, verdict.Answer):
        return answer
    wants = tuple(replace(want, of_random_data=True, whole=True) for want in answer.wants)
    return answer._replace(wants=wants)
