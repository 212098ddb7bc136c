"""Which files in a folder are case files: one answer for `opcheck run DIR` and for pytest.

`opcheck run DIR` takes every YAML file of a folder that is not hidden, and reports those that are
no case files. pytest collects in folders that hold other YAML too, so there a file counts by what
it holds.
"""

import codecs
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from opcheck.reading import FILE_LIMIT, Kind, Mark, Problems, kind_of, read_text

SUFFIXES = (".yaml", ".yml")
UNREADABLE = "this folder cannot be read: {}"
_WHOLE_FILE = Mark(0, 0)
#: The keys of a case file, of which one with mistakes may lack some.
_KEYS = {"op", "cases", "bench"}
#: Those of lists of cases, which no file of another kind has.
_LISTS = {"cases", "bench"}
#: Such a key somewhere in a text that cannot be parsed, in quotes or not.
_SPELT_KEY = re.compile(r"""\b(op|cases|bench)["']?\s*:""")
#: Hidden folders of tools, which hold no cases of the user's.
_TOOLS = re.compile(r"\.(git|hg|svn|tox|nox|.*_cache|cache)")
#: Encodings by the marks that files begin with; UTF-32's begins like UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_yaml(path: Path) -> bool:
    """Return True if the name of a file ends as that of a YAML file, in any case of letters."""
    return path.suffix.lower() in SUFFIXES


def is_case_file(file: Path) -> bool:
    """Return False for the files next to those of cases, such as `softmax.clauses.yaml`.

    The name alone decides; any other name is that of a case file.
    """
    return kind_of(file) in (Kind.CASES, Kind.HUGE)


def case_files_in(folder: Path, problems: Problems) -> list[Path]:
    """Return the case files in a folder and below, in order; nothing hidden.

    Added to `problems` are a misnamed file of cases, a link that leads to nothing, and a folder
    that cannot be read. Nothing is raised.
    """
    found: list[Path] = []
    for file in yaml_files_in(folder, problems):
        if is_case_file(file):
            found.append(file)
        elif holds_cases(file):
            message = f"this file has cases, and a file *{kind_of(file)} is not a case file"
            problems.add(str(file), _WHOLE_FILE, message, "rename it")
    return found


def yaml_files_in(folder: Path, problems: Problems) -> list[Path]:
    """Return the YAML files in a folder and below, in order; nothing hidden, such as .venv.

    Links to folders are followed, each folder once. Added to `problems` are a link that leads to
    nothing and a folder that cannot be read. Nothing is raised.
    """
    found: list[Path] = []
    walked: set[Path] = set()

    def unreadable(error: OSError) -> None:
        problems.add(str(error.filename), _WHOLE_FILE, UNREADABLE.format(error.strerror))

    for where, folders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        place = real(Path(where))
        # A link may lead back to a folder above it.
        folders[:] = [] if place in walked else sorted(n for n in folders if n[0] != ".")
        files = [] if place in walked else [Path(where, n) for n in names if n[0] != "."]
        walked.add(place)
        for file in files:
            if is_dead_link(file):
                problems.add(str(file), _WHOLE_FILE, "this link leads to nothing that can be read")
            elif is_yaml(file):
                found.append(file)
    return sorted(found)


def is_dead_link(file: Path) -> bool:
    """Return True for a link that leads to nothing, or that cannot be followed."""
    return file.is_symlink() and not os.path.exists(file)  # noqa: PTH110  # Path's may raise


def real(path: Path) -> Path:
    """Return a path without links, as far as they can be followed; itself if they cannot."""
    with suppress(OSError, RuntimeError, ValueError):
        return path.resolve()
    return path


def hidden_case_files(folders: Iterable[Path]) -> list[Path]:
    """Return case files below `folders`, in order, that a name with a dot in front hides.

    Folders of tools, such as .git and virtual environments, are left out. A file counts by
    `holds_cases`.
    """
    found: set[Path] = set()
    for folder in folders:
        for where, below, names in os.walk(folder):
            below[:] = [name for name in below if not _is_of_a_tool(Path(where, name))]
            is_hidden = any(part[0] == "." for part in Path(where).relative_to(folder).parts)
            paths = (Path(where, name) for name in names if is_hidden or name[0] == ".")
            found.update(path for path in paths if is_yaml(path) and holds_cases(path))
    return sorted(found)


def _is_of_a_tool(folder: Path) -> bool:
    """Return True for the folder of a tool or a virtual environment, such as .git or .venv."""
    return _TOOLS.fullmatch(folder.name) is not None or is_virtual_environment(folder)


def is_virtual_environment(folder: Path) -> bool:
    """Return True for the folder of a virtual environment, whose files belong to packages."""
    return os.path.isfile(folder / "pyvenv.cfg")  # noqa: PTH113  # Path's may raise


def holds_cases(path: Path) -> bool:
    """Return True if a YAML file is meant as a case file, though it may be damaged or misnamed.

    That is one with a key of case files at its top: op, cases or bench; of a file with another
    name, cases or bench. A file that cannot be parsed counts if two such keys are anywhere in it,
    and one that cannot be read counts: to load it reports what is wrong.
    """
    return bool(_keys(path) & (_KEYS if is_case_file(path) else _LISTS))


def _keys(path: Path) -> set[str]:
    """Return the keys op, cases and bench that a file has, all of them where it cannot be read.

    Of one that cannot be parsed, these words if there are two of them, else none.
    """
    try:
        if not path.is_file():
            return _KEYS
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT)
    except OSError:
        return _KEYS
    text = _text(data)
    words = set(_SPELT_KEY.findall(text))
    # Keys may be escaped, or aliases.
    if not words and not re.search(r"[\\*]", text):
        return set()
    document = read_text(text, str(path), Problems()) if len(data) < FILE_LIMIT else None
    if document is None or not document.entries:
        return words if len(words) > 1 else set()
    return document.entries.keys() & _KEYS


def _text(data: bytes) -> str:
    """Return the text of a file in any encoding of Unicode; what cannot be decoded is replaced."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.removeprefix(mark).decode(encoding, "replace")
    # Without a mark, the NULs of ASCII in wider encodings are left out.
    return data.replace(b"\0", b"").decode("utf-8-sig", "replace")
