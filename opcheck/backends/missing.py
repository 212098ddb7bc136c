"""Recognize sentences in which an engine names what it is missing.

Engines raise the same exception for a missing feature and for an invalid model: only the message
shows which it is. A sentence counts if it names an operator, type, rank, mode or version that the
engine has no code for. A sentence that calls the model wrong, or asks for other values, is a
refusal: its reader would change a model that is right.

The shipped adapters decide by this module alone. Other backends raise `NotSupported`.
"""

import re

from opcheck.dtypes import DTYPES

#: Words of a sentence. Quotes and parentheses are not read: a name in a model may stand in them.
_TEXT = r"""(?:[^\n(){}'"]|(?<=\w)'(?=\w)|'[^'\n]*'|"[^"\n]*"|\((?:[^()\n]|\([^()\n]*\))*\))*"""
#: What a sentence names.
_NOUN = (
    "(?:activation function|datatype|datum type|DatumType|dimension|mode|opset|operation of type"
    "|operator|precision|rank|size|type|version)"
)
_TYPE_CODES = "|".join(str(dtype.onnx) for dtype in DTYPES.values())
#: What precedes a sentence in its line: the number of a cause, an error's code, the place in C++,
#: its function, the condition that did not hold, or another sentence.
_HEADS = (
    r"^[ \d:-]*",
    r"\[CPU\] ",
    r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ",
    r"Status Message: ",
    r"Exception during (?:initialization|loading): ",
    r"CALLBACK HAS THROWN: ",
    r"\w+\.(?:cc|h):\d+ \w+ ",
    r"&\) ",
    r"\) const ",
    r"\] ",
    r"<lambda\(\)> ",
    r"\bwas false\. ",
    r"\. ",
    r"(?<! ) : ",
)
#: Whole sentences: each ends its line. An engine's own words come first, then forms that several
#: engines use. "Pad should be smaller than kernel.", "Only N can be zero." and "Supported primitive
#: descriptors list is empty" are not among them: they call a legal model wrong, or a kernel exists
#: and cannot be set up.
_SENTENCES = (
    # ONNX Runtime
    r"Could not find an implementation for .+",
    r"Fatal error: \S+\(-?\d+\) is not a registered function/op",
    r"MLDataType for: .{1,200} is not currently registered or supported",
    rf"Invalid tensor data type (?:{_TYPE_CODES})\b.*",
    r"Unsupported model IR version: \d+, max supported IR version: \d+",
    r"Opset \d+ is under development and support for this is limited\..*",
    r"'\w+' mode only supports:",
    r"Failed to construct locale with name:.+",
    # OpenVINO
    r"No conversion rule found for operations:.*",
    r"Expected a 3D, 4D or 5D tensor for the input\..*",
    r"Input element type must be \w+(?:, \w+)+",
    r"\w+ node with name '[^']*' has unsupported '\w+' input precision: \w+",
    # onnx.reference
    r"No implementation for operator '\w+' domain '[\w.]*' and version \d+, found .+",
    r"\w+ only applies on \d+D tensors but shape is .+",
    r"\w[\w.]* must be installed to use .+",
    # tract
    r"(?:Translating|Failed analyse for) node #\d+ \"[^\"]*\" Unimplemented\(\w+\).*",
    r"unknown ONNX TensorProto\.DataType.*",
    # of several
    r"This session contains graph nodes that are assigned to the default CPU EP, but fallback to "
    r"CPU EP has been explicitly disabled by the user\.",
    r"Unknown (?:DatumType|activation function):? \S+",
    rf"Unsupported {_TEXT}\b{_NOUN}\b{_TEXT}",
    rf"{_TEXT}\b[Nn]ot (?:yet |currently )?(?:supported|implemented)\b{_TEXT}",
    rf"{_TEXT}\b(?:does not|doesn't|do not|don't) support {_TEXT}",
    rf"{_TEXT}\bonly supports? {_TEXT}",
    rf"{_TEXT}\b(?:is|are) only supported for {_TEXT}",
    rf"Only (?:supports? {_TEXT}|{_TEXT}\b(?:is|are) supported\b{_TEXT})",
)
#: The last head of a line after which all that follows is such a sentence.
_SENTENCE = re.compile(
    rf"^.*(?:{'|'.join(_HEADS)})(?P<sentence>{'|'.join(_SENTENCES)})[ \t]*$", re.MULTILINE
)


def missing(message: str) -> str | None:
    """Return the first sentence of a message that names what is missing, None if none does."""
    found = _SENTENCE.search(message)
    return found["sentence"].strip(" -") if found else None
