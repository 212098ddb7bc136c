"""One classifier decides for all shipped adapters which refusals are *unsupported*."""

import json
import re
from typing import Any

import pytest

from opcheck.backends.missing import missing
from opcheck.known import shipped_ledgers
from tests.shell import ROOT

ORT = "[ONNXRuntimeError] : 1 : FAIL : "
RUNNING = f"{ORT}Non-zero status code returned while running Node node. Name:'' Status Message: "
OPENVINO = "Exception from src/inference/src/dev/plugin.cpp:54:\n"


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        # an operator
        ("No conversion rule found for operations: Det-22", ...),
        (
            f"{ORT}Fatal error: own:Nope(-1) is not a registered function/op",
            "Fatal error: own:Nope",
        ),
        (
            "No implementation for operator 'RNN' domain '' and version 1, found 7, 14, None.",
            ...,
        ),
        ('Translating node #1 "Y" Unimplemented(Det) ToTypedTranslator', ...),
        # a type
        (f"{RUNNING}GRU operator does not support double yet", "GRU operator does not"),
        (
            "MaxRoiPool operator only supports float16, float32, and float64 datatypes.",
            ...,
        ),
        (f"{OPENVINO}CPU plugin does not support string for use with oneDNN.", "CPU plugin"),
        ("Input element type must be f32, f16, i8, bf16, u8, i64, i32, f64", ...),
        ("Caused by:\n    1: Unknown DatumType Bfloat16", "Unknown DatumType Bfloat16"),
        ("Unsupported DatumType in the public API TDim", ...),
        ("\"avg_pool2d\" not implemented for 'Int'", ...),
        # a mode
        (
            f"{ORT}Exception during initialization: /onnxruntime/batch_norm.h:56 "
            "onnxruntime::BatchNorm<T>::BatchNorm(const onnxruntime::OpKernelInfo&) [with T = "
            "float] is_spatial_ was false. Training mode only supports spatial BN",
            "Training mode only supports spatial BN",
        ),
        ("CALLBACK HAS THROWN: Unknown activation function: elu", "Unknown activation"),
        ("ceil_mode is not supported with auto_pad", ...),
        # a rank
        (f"{RUNNING}Unsupported pooling size.", "Unsupported pooling size."),
        (
            f"{RUNNING}/grid_sample.cc:380 Compute(onnxruntime::OpKernelContext*) const [with T = "
            "float] NumDimensions() == 5 was false. Only 4-D or 5-D tensor is supported",
            "Only 4-D or 5-D",
        ),
        ("LRN only applies on 4D tensors but shape is (2, 5, 7).", ...),
        ("Not implemented yet for shape (1, 1, 3, 2, 3, 5).", ...),
        # a version
        (f"{ORT}Unsupported model IR version: 99, max supported IR version: 13", "Unsupported"),
    ],
)
def test_a_sentence_that_names_what_is_missing_is_found_without_its_heads(message, sentence):
    found = missing(message)
    assert found is not None
    assert found.startswith(message if sentence is ... else sentence)


@pytest.mark.parametrize(
    "message",
    [
        "Pad should be smaller than kernel.",
        "Invalid input shape. Only N can be zero. Got:{2,0,5}",
        "Supported primitive descriptors list is empty for node: AvgPool_54445",
        "expected axes as a constant",
        "index can't contain negative values",
        "Unsupported operation",
        "Invalid tensor data type 99",
        "Attribute saturate is only used for cast to float 8 types.",
        # A name in a model may have some words of such a sentence.
        "Node (this type is not supported.) failed: no",
        "Node 'GRU operator does not support double yet' failed",
        "Check 'the type is not supported' failed at src/core.cpp:1:",
    ],
)
def test_a_message_that_calls_the_model_wrong_or_only_quotes_a_sentence_is_a_refusal(message):
    assert missing(message) is None


def test_no_listed_refusal_names_what_is_missing_unless_its_line_says_why() -> None:
    """A ledger accuses an engine of no refusal that the adapters count as unsupported."""
    excused, matching = set(), set()
    for ledger in shipped_ledgers():
        lines = {line.id: line for line in ledger.fields.known}
        excused |= {id for id, line in lines.items() if line.implemented}
        for shown in _shown_by_hand():
            line = lines.get(shown["defect"])
            if line and "raised" in line.failure and _names_what_is_missing(shown):
                matching.add(line.id)
    assert matching == excused


def _shown_by_hand() -> list[dict[str, Any]]:
    files = sorted((ROOT / "reports" / "shown").glob("*.json"))
    return [entry for file in files for entry in json.loads(file.read_text("utf-8"))]


def _names_what_is_missing(shown: dict[str, Any]) -> bool:
    """Return True if an engine's message does, without the name of its exception's type."""
    messages = [re.sub(r"^\w+: (… )?", "", on["got"]) for on in shown["on"]]
    return any(map(missing, messages))
