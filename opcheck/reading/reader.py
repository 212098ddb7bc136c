"""Read files and texts into `FileNode` trees; every way a file can be unusable is a problem."""

import gc
import re
import stat
from pathlib import Path
from typing import Final

import opcheck
from opcheck.reading.builder import Builder
from opcheck.reading.nodes import FileNode, Mark, Problems, Unreadable
from opcheck.reading.scalars import unreadable

#: The largest file read, in bytes (for a text: in characters): larger ones take too long to parse.
FILE_LIMIT: Final = 2 * 2**20
#: How many %TAG directives a file may have: libyaml's time grows with the square of them.
DIRECTIVE_LIMIT: Final = 16

#: What is wrong with text of 16 or 32 bits a character, as Windows may save it.
WIDE: Final = "this file is UTF-16 or UTF-32, not UTF-8"

_WIDE_TEXT: Final = re.compile(rb"\xff\xfe|\xfe\xff|([ -~]\0+){2}|(\0+[ -~]){2}")
_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_DIRECTIVE: Final = re.compile("^%TAG|[\n\r\x85\u2028\u2029]%TAG")
#: https://yaml.org/spec/1.2.2/#51-character-set
_FORBIDDEN: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


def read_file(path: Path, problems: Problems) -> FileNode | None:
    """Read one file, as far as it can be used; whatever is wrong with it goes to `problems`."""
    try:
        text = decoded(contents(path))
    except Unreadable as why:
        problems.add(str(path), why.mark, why.message, why.hint)
        return None
    return read_text(text, str(path), problems)


def read_text(text: str, file: str, problems: Problems) -> FileNode | None:
    """Read a text that came from `file`, as `read_file` does."""
    import yaml

    builder = Builder(file, problems)
    # The tree has no cycles, and the collector would look through all of it again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        text = _checked(text)
        loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
        return builder.build(loader(text))
    except Unreadable as why:
        stop = why
    # The pure Python parser lets ValueError and OverflowError out for absurd escapes and versions.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        stop = unreadable(error, text, builder.last)
    finally:
        if collecting:
            gc.enable()
    problems.add(file, stop.mark, stop.message, stop.hint)
    return None


def contents(path: Path) -> bytes:
    """Return what a regular file holds. Raises Unreadable."""
    start = Mark(1, 1)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable(start, "this is a folder, not a file")
        # Reading a pipe or a device might never end.
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(start, "this is no regular file")
        if status.st_size > FILE_LIMIT:
            raise _too_large(status.st_size)
        with path.open("rb") as file:
            return file.read(FILE_LIMIT + 1)
    except FileNotFoundError:
        raise Unreadable(start, "there is no such file") from None
    except PermissionError:
        raise Unreadable(start, "this file may not be read (permission denied)") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unreadable(start, f"this file cannot be read: {reason}") from None


def is_wide(data: bytes) -> bool:
    """Return True for text in UTF-16 or UTF-32: it has a mark, or NULs around ASCII."""
    return _WIDE_TEXT.match(data) is not None


def decoded(data: bytes) -> str:
    """Return the text of a file. Raises Unreadable where it is not in UTF-8."""
    save = "save it as UTF-8"
    if is_wide(data):
        raise Unreadable(Mark(1, 1), WIDE, save)
    zero = data.find(b"\0")
    if zero >= 0:
        mark = _place(data[:zero].decode(errors="replace"))
        raise Unreadable(mark, "this is a binary file (it holds a NUL byte)")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        mark = _place(data[: error.start].decode())
        message = f"this file is not UTF-8 (byte 0x{data[error.start]:02x})"
        raise Unreadable(mark, message, save) from None


def _checked(text: str) -> str:
    """The text without its byte order mark. Raises Unreadable for what no parser should see."""
    if len(text) > FILE_LIMIT:
        raise _too_large(len(text))
    text = text.removeprefix("\ufeff")
    found = _FORBIDDEN.search(text)
    if found:
        mark = _place(text[: found.start()])
        code = ord(found[0])
        written = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
        hint = f"write {written} within double quotes if it is meant"
        raise Unreadable(mark, f"the control character U+{code:04X} is not allowed", hint)
    if "%TAG" in text and len(_DIRECTIVE.findall(text)) > DIRECTIVE_LIMIT:
        raise Unreadable(Mark(1, 1), f"more than {DIRECTIVE_LIMIT} %TAG directives")
    return text


def _too_large(size: int) -> Unreadable:
    message = f"the file has {size / 2**20:.1f} MiB, more than {FILE_LIMIT >> 20} MiB"
    return Unreadable(Mark(1, 1), message, "large tensors are made by fills, or lie in .npy files")


def _place(before: str) -> Mark:
    """The place that follows `before`, which begins the file."""
    breaks = list(_BREAK.finditer(before.removeprefix("\ufeff")))
    line_start = breaks[-1].end() if breaks else 0
    return Mark(len(breaks) + 1, len(before.removeprefix("\ufeff")) - line_start + 1)


def shipped_folder(installed: str, checkout: str) -> Path:
    """The folder `installed` inside the package or, in a checkout, `checkout` beside it."""
    package = Path(opcheck.__file__).parent
    inside = package / installed
    return inside if inside.is_dir() else package.parent / checkout
