"""`tract`: the engine tract on the CPU, by its own Python bindings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opcheck.backends import transport
from opcheck.backends.adapters import About, declining, importing, take
from opcheck.backends.base import Backend, Bare, handed_over
from opcheck.graph import ModelProto, model_of, sized
from opcheck.model import Array, BackendInfo, Task

ABOUT = About("tract", "tract", extra=True)


def connect(detail: str | None, options: Mapping[str, str]) -> Backend:
    """Return tract on the CPU, where it computes with one thread."""
    take("tract", options, {}, detail)
    with importing(ABOUT, "tract"):
        import tract

        version = tract.version()
        loader = tract.onnx()
    info = BackendInfo("tract", "tract", version, threads=1)
    return Backend(info, (tract.TractError,), partial(prepared, loader, tract.TractError))


def prepared(loader: Any, failure: type[Exception], task: Task) -> "Runnable":
    """Load the one-node model and optimize it as tract does by default."""
    transport.check(task, "tract")

    def made() -> ModelProto:
        # It runs no model whose sizes are open, and reads from files only.
        return sized(model_of(task, whole=False), task.inputs)

    with handed_over(made, as_file=True) as path, declining(failure):
        read = loader.load(path).into_model()
        facts = [str(read.output_fact(n)) for n in range(read.output_count())]
        return Runnable(read.into_runnable(), facts)


@dataclass(frozen=True)
class Runnable:
    """One model in tract, and what it says of its outputs, such as `2,3,F32`."""

    runnable: Any
    facts: list[str]

    def declared(self) -> list[tuple[None, list[int | None]]]:
        """Return the shapes of the outputs, whose sizes may be symbols."""
        shapes = [fact.split(",")[:-1] for fact in self.facts]
        return [(None, [_size(text) for text in shape]) for shape in shapes]

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return copies of the outputs."""
        from tract import TractError

        with declining(TractError):
            return _arrays(self.runnable.run(list(inputs)))

    def repeated(self, inputs: Sequence[Array]) -> Bare:
        """Return the call of a state of the model on tensors of tract."""
        from tract import Tensor

        tensors = [*map(Tensor.from_numpy, inputs)]
        return Bare(partial(self.runnable.spawn_state().run, tensors), _arrays)


def _size(text: str) -> int | None:
    """Return a size, None for a symbol."""
    return int(text) if text.isdecimal() else None


def _arrays(tensors: Sequence[Any]) -> list[Array]:
    return [tensor.to_numpy() for tensor in tensors]
