"""Another backend, of which each row must have the same bits alone and in a batch.

    opcheck run batches.yaml -b 'py:batch_invariant?of=onnxruntime'

Axis 0 of the first input and of each output is the batch; the other inputs are weights.
"""

from dataclasses import replace
from urllib.parse import unquote

from opcheck.backends import connect


class BatchInvariant:
    """The backend of the address `of`, which is percent-encoded if it has options."""

    def __init__(self, of):
        self.backend = connect(unquote(of))
        self.version = self.backend.info.version

    def prepare(self, task):
        """Prepare the task, and the same for one row."""
        first, *weights = task.inputs
        row = replace(first, shape=(1, *first.shape[1:]))
        alone = self.backend.prepare(replace(task, inputs=(row, *weights)))
        return Compared(self.backend.prepare(task), alone)


class Compared:
    """A task for a batch, and for a row of it."""

    def __init__(self, batch, row):
        self.batch = batch
        self.row = row

    def run(self, inputs):
        """Return the batch's outputs; raise AssertionError for another row alone."""
        x, *weights = inputs
        outputs = self.batch.run(inputs)
        for n in range(len(x)):
            rows = self.row.run([x[n : n + 1], *weights])
            for whole, alone in zip(outputs, rows, strict=True):
                if whole[n : n + 1].tobytes() != alone.tobytes():
                    raise AssertionError("a row of a batch differs from the row alone")
        return outputs
