from pathlib import Path

from opcheck.reading import FileNode, Problems, read_file, read_text


def read(source: Path | str) -> FileNode:
    """The tree of a file (Path) or a text (str); raises CaseFileError with every problem."""
    problems = Problems()
    if isinstance(source, Path):
        node = read_file(source, problems)
    else:
        node = read_text(source, "<text>", problems)
    problems.raise_if_any()
    assert node is not None
    return node
