"""The vocabulary: frozen dataclasses that every other module speaks, and no behaviour beyond them.

`case` is what is written, `question` what a backend is asked, `outcome` what it did, `result` what
that is worth, `record` what is stored of it.
"""

from opcheck.model.case import (
    ATTRIBUTE_TYPES,
    EXACT,
    GRAPH,
    Agreement,
    Alternative,
    AnyOf,
    Array,
    Arrays,
    Attrs,
    AttrValue,
    Case,
    Computed,
    Expectation,
    Fill,
    FromFile,
    Given,
    Golden,
    Level,
    OpVersion,
    Oracle,
    OutputSpec,
    Port,
    Put,
    Rejected,
    Rule,
    Scalar,
    Source,
    TensorSpec,
    Tolerance,
    Typed,
    Values,
)
from opcheck.model.outcome import (
    NOTHING,
    Crashed,
    Declared,
    Declined,
    Foreign,
    Items,
    NotRun,
    Outcome,
    OutOfMemory,
    Produced,
    Raised,
    Reply,
    TimedOut,
)
from opcheck.model.question import Question, Task, TensorType, Value
from opcheck.model.record import ComparisonRecord, ElementRecord, Ending, Header, Record, Run, Suite
from opcheck.model.result import (
    FAILURES,
    WRONG,
    BackendInfo,
    Comparison,
    Diagnosis,
    Element,
    Environment,
    Failure,
    Known,
    Mismatch,
    Picture,
    Problem,
    Result,
    Verdict,
)
