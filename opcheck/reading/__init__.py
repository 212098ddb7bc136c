"""Strict YAML 1.2 from files that may come from strangers, as data that knows where it stands.

`reader` turns bytes into text, the parser's events into `nodes`, and words into values. What a file
means is not known here, and `yaml` is imported on the first read only.
"""

from opcheck.reading.reader import (
    FileNode,
    Mark,
    PlainScalar,
    Problems,
    operators_in,
    quoted,
    read_file,
    read_text,
    shipped_folder,
    uncollected,
)
