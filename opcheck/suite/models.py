"""Cases that come as models: a folder of test data, or the node tests of the onnx package."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from opcheck.dtypes import DTYPES, DType, element_type
from opcheck.engine import operator_of
from opcheck.graph import ModelProto
from opcheck.graph.nodes import Stated, opset_of, random_outputs, stated
from opcheck.graph.tensors import initializers
from opcheck.graph.test_data import ModelTest
from opcheck.model import (
    GRAPH,
    Agreement,
    Array,
    Case,
    Given,
    OutputSpec,
    Port,
    Source,
    TensorSpec,
    Tolerance,
    Value,
    Values,
)

#: What ONNX's runner allows bfloat16 at the least, whatever is said: two ULP.
_BFLOAT16 = 2.0**-6


def cases_of(test: ModelTest, source: Source) -> Iterator[Case]:
    """A case for each data set of a test, judged by the test's tolerance as ONNX's runner does."""
    model, random = WholeModel.of(test.model), random_outputs(test.model)
    outputs = [info.name for info in test.model.graph.output]
    for data in test.data_sets:
        row = str(data.number) if len(test.data_sets) > 1 else None
        inputs, ports = _specs([info.name for info in test.fed], data.inputs)
        case = model.case(test.name, inputs, ports, source)
        wanted, wanted_ports = _specs(outputs, data.outputs)
        yield replace(
            case,
            id=f"{test.name}#{row}" if row else test.name,
            row=row,
            expect=Values(wanted, wanted_ports, random),
            tolerance=Tolerance(rtol=_rtol(test, wanted), atol=test.atol),
            beyond=data.beyond,
        )


def _rtol(test: ModelTest, outputs: Iterable[TensorSpec]) -> float:
    """The test's, but of bfloat16 alone as much as ONNX's runner allows there at the least."""
    floats = {spec.dtype.name for spec in outputs if spec.dtype.kind == "float"}
    return max(test.rtol, _BFLOAT16) if floats == {"bfloat16"} else test.rtol


@dataclass(frozen=True, eq=False)
class WholeModel:
    """A model, and what it is made into a case of."""

    proto: ModelProto
    data: bytes
    node: Stated | None

    @classmethod
    def of(cls, model: ModelProto) -> WholeModel:
        """The model, looked at once."""
        return cls(model, model.SerializeToString(deterministic=True), stated(model))

    def case(
        self, name: str, inputs: tuple[TensorSpec, ...], ports: tuple[Port, ...], source: Source
    ) -> Case:
        """The model on these inputs; of backends it is asked that they agree."""
        node = self.node
        constants = self._constants(node, {port.name for port in ports}) if node else ()
        known = node if node and _engine_takes(node, (*constants, *inputs), ports) else None
        # An operator of the engine on what the engine does not take is a graph like any other.
        alone = node if node and not operator_of(node.op) else known
        return Case(
            id=name,
            name=name,
            row=None,
            op=alone.op if alone else GRAPH,
            opset=node.opset if node else opset_of(self.proto),
            dtype=_common(inputs),
            attrs=alone.attrs if alone else {},
            inputs=(*inputs, *constants) if known else inputs,
            slots=known.slots if known else (),
            outputs=tuple(OutputSpec(info.name, None) for info in self.proto.graph.output),
            expect=Agreement(),
            tolerance=None,
            rule="must",
            level="core",
            clause="",
            source=source,
            model=self.data,
            ports=ports,
        )

    def _constants(self, node: Stated, fed: Collection[str]) -> tuple[TensorSpec, ...]:
        """The initializers that the node reads, and nobody feeds."""
        found = initializers(self.proto, {*node.slots} - {*fed})
        return tuple(_spec(name, array, initializer=True) for name, array in found.items())


def _specs(
    names: Sequence[str], values: Sequence[Value]
) -> tuple[tuple[TensorSpec, ...], tuple[Port, ...]]:
    """Values as tensors in a row, and which of the model's they are."""
    tensors: list[TensorSpec] = []
    ports = []
    for name, value in zip(names, values, strict=False):
        match value:
            case None:
                ports.append(Port(name, "nothing", 0))
            case list():
                ports.append(Port(name, "sequence", len(value)))
                tensors += [_spec(f"{name}[{place}]", one) for place, one in enumerate(value)]
            case array:
                ports.append(Port(name))
                tensors.append(_spec(name, array))
    return tuple(tensors), tuple(ports)


def _spec(name: str, array: Array, *, initializer: bool = False) -> TensorSpec:
    dtype = element_type(array)
    assert dtype
    return TensorSpec(name, dtype, array.shape, Given(array), initializer=initializer)


def _engine_takes(node: Stated, tensors: Iterable[TensorSpec], ports: Iterable[Port]) -> bool:
    """Whether the engine computes this node, on inputs such as these."""
    return (
        operator_of(node.op) is not None
        and node.plain
        and all(port.form == "tensor" for port in ports)
        and all(tensor.dtype.name in DTYPES for tensor in tensors)
    )


def _common(inputs: Iterable[TensorSpec]) -> DType | None:
    """The dtype of all inputs, if they have one."""
    found = {spec.dtype.name: spec.dtype for spec in inputs}
    return next(iter(found.values())) if len(found) == 1 else None
