"""A parser's events → one tree of nodes, in one loop without recursion, within limits."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from opcheck.reading import scalars
from opcheck.reading.nodes import FileNode, Mark, PlainScalar, Problems, Unreadable, quoted
from opcheck.reading.scalars import WRONG_VERSION, place

#: How many lists and mappings may stand within each other.
DEPTH_LIMIT: Final = 64
#: How many values a file may hold, each alias counting as much as what it stands for.
NODE_LIMIT: Final = 1_000_000
#: After so many problems in one file the rest of it is not read.
PROBLEM_LIMIT: Final = 1000

_KINDS: Final = {"seq": "list", "map": "mapping"}
_NO_KEYS: Final[dict[str, Mark]] = {}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


#: In place of a key: the next value is one, or no key stands before it. That is so in a list, and
#: where a key was refused, whose value is read and dropped.
_AWAITED, _NO_KEY = object(), object()


@dataclass(slots=True, eq=False)
class _Frame:
    """A list or a mapping whose end has not been reached; `items` is None for a mapping."""

    mark: Mark
    items: list[FileNode] | None
    key: object
    anchor: str | None = None
    #: How many values the file held before this one.
    before: int = 0
    #: The depth of what it holds.
    height: int = 0
    entries: dict[str, FileNode] = field(default_factory=dict)
    keys: dict[str, Mark] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _Anchored:
    """A finished value that aliases may stand for, with its count of values and its depth."""

    node: FileNode
    size: int
    height: int


class Builder:
    """Builds the tree of one file. `last` is where the latest list or mapping begins."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.last = Mark(1, 1)
        self._file = file
        self._problems = problems
        self._problem_limit = len(problems) + PROBLEM_LIMIT
        self._anchors: dict[str, _Anchored | _Frame] = {}
        #: What plain words were found to be: the same few come again and again.
        self._plain: dict[str, PlainScalar] = dict(scalars.WORDS)
        self._count = 0
        self._top: list[FileNode] = []
        self._frame = _Frame(self.last, self._top, _NO_KEY)
        self._outer: list[_Frame] = []

    def build(self, parser: Any) -> FileNode:
        """The file's only document; raises Unreadable, and the parser's own errors."""
        from yaml import events

        steps: dict[type[Any], Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.SequenceStartEvent: lambda event: self._open(event, "seq", []),
            events.MappingStartEvent: lambda event: self._open(event, "map", None),
            events.SequenceEndEvent: self._close,
            events.MappingEndEvent: self._close,
            events.AliasEvent: self._alias,
            events.DocumentStartEvent: self._document,
        }
        for event in iter(parser.get_event, None):
            if step := steps.get(type(event)):
                step(event)
        if not self._top:
            raise Unreadable(Mark(1, 1), "the file is empty")
        return self._top[0]

    def _document(self, event: Any) -> None:
        mark = place(event.start_mark)
        if self._top:
            hint = "a file holds one document: nothing may follow a second '---'"
            raise Unreadable(mark, "a second document begins here", hint)
        if event.version not in (None, (1, 2)):
            raise Unreadable(mark, *WRONG_VERSION)

    def _scalar(self, event: Any) -> None:
        mark = place(event.start_mark)
        text: str = event.value
        if event.style or event.tag or text not in self._plain:
            value = self._value(event, mark)
        else:
            value = self._plain[text]
        if self._frame.key is _AWAITED:
            self._key(mark, text, value, merge=text == "<<" and not event.style)
        else:
            self._put(FileNode(value, mark, _NO_KEYS), mark, 1)
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(FileNode(value, mark), 1, 0)

    def _value(self, event: Any, mark: Mark) -> PlainScalar:
        text: str = event.value
        # libyaml refuses these itself; nothing could ever print them.
        if event.style and not text.isascii() and _SURROGATE.search(text):
            self._problem(mark, f"{quoted(text)} holds half of a surrogate pair")
        try:
            if event.tag:
                known = event.tag == "!" or self._tag_is_known(event.tag, mark)
                return scalars.tagged(event.tag, text) if known else text
            if event.style:
                return text
            return self._plain.setdefault(text, scalars.resolve(text))
        except scalars.BadScalar as bad:
            self._problem(mark, bad.message, bad.hint)
            return 0

    def _key(self, mark: Mark, text: str, value: object, *, merge: bool = False) -> None:
        frame = self._frame
        frame.key = _NO_KEY
        if merge:
            message = "'<<' does not merge mappings"
            self._problem(mark, message, "YAML 1.2 has no such thing: write the keys out")
        elif not isinstance(value, str):
            hint = f"write {quoted(text)} in quotes if it is meant as a word" if text else None
            found = f"{quoted(text) if text else 'this'} is {scalars.named(value)}"
            self._problem(mark, f"a key must be a word; {found}", hint)
        elif value in frame.keys:
            first = frame.keys[value]
            where = f"line {first.line}, column {first.column}"
            self._problem(mark, f"the key {quoted(value)} stands here again, first at {where}")
        else:
            frame.keys[value], frame.key = mark, value

    def _put(self, node: FileNode, mark: Mark, size: int) -> None:
        self._count += size
        if self._count > NODE_LIMIT:
            hint = "an alias counts as much as what it stands for" if self._anchors else None
            raise Unreadable(mark, f"more than {NODE_LIMIT:,} values", hint)
        frame = self._frame
        if frame.items is not None:
            frame.items.append(node)
            return
        if isinstance(frame.key, str):
            frame.entries[frame.key] = node
        frame.key = _AWAITED

    def _open(self, event: Any, kind: str, items: list[FileNode] | None) -> None:
        mark = self.last = place(event.start_mark)
        self._check_depth(mark, 1)
        tag = event.tag
        if tag and tag != "!" and self._tag_is_known(tag, mark) and not tag.endswith(":" + kind):
            self._problem(mark, f"a {_KINDS[kind]} is no {scalars.shown(tag)}")
        if self._frame.key is _AWAITED:
            # Nothing that follows can be trusted: this is often text that should be in quotes.
            hint = "text that begins with [ or { needs quotes"
            raise Unreadable(mark, f"a key must be a word, not a {_KINDS[kind]}", hint)
        self._outer.append(self._frame)
        key = _AWAITED if items is None else _NO_KEY
        self._frame = _Frame(mark, items, key, event.anchor, self._count)
        if event.anchor:
            self._anchors[event.anchor] = self._frame

    def _close(self, _: Any) -> None:
        frame, self._frame = self._frame, self._outer.pop()
        if frame.items is None:
            node = FileNode(frame.entries, frame.mark, frame.keys)
        else:
            node = FileNode(tuple(frame.items), frame.mark, _NO_KEYS)
        height = frame.height + 1
        self._frame.height = max(self._frame.height, height)
        # The same anchor may have been given again within.
        if frame.anchor and self._anchors[frame.anchor] is frame:
            size = self._count - frame.before + 1
            self._anchors[frame.anchor] = _Anchored(node, size, height)
        self._put(node, frame.mark, 1)

    def _alias(self, event: Any) -> None:
        mark = self.last = place(event.start_mark)
        target = self._anchors.get(event.anchor)
        name = quoted("*" + event.anchor)
        if target is None:
            hint = "text that begins with * needs quotes"
            raise Unreadable(mark, f"{name} stands for nothing named before it", hint)
        if isinstance(target, _Frame):
            raise Unreadable(mark, f"{name} stands within the very thing it names")
        self._check_depth(mark, target.height)
        if self._frame.key is _AWAITED:
            self._key(mark, "*" + event.anchor, target.node.value)
            return
        self._frame.height = max(self._frame.height, target.height)
        self._put(target.node, mark, target.size)

    def _check_depth(self, mark: Mark, height: int) -> None:
        if len(self._outer) + height > DEPTH_LIMIT:
            message = f"more than {DEPTH_LIMIT} lists and mappings within each other"
            raise Unreadable(mark, message)

    def _tag_is_known(self, tag: str, mark: Mark) -> bool:
        if tag not in scalars.TAGS:
            hint = "case files are plain data: remove the tag"
            self._problem(mark, f"the tag {scalars.shown(tag)} is not allowed", hint)
        return tag in scalars.TAGS

    def _problem(self, mark: Mark, message: str, hint: str | None = None) -> None:
        if len(self._problems) >= self._problem_limit:
            raise Unreadable(mark, f"more than {PROBLEM_LIMIT:,} problems; reading ends here")
        self._problems.add(self._file, mark, message, hint)
