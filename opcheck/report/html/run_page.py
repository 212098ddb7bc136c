"""The page of a run: it shows untrusted texts harmless and not too long."""

import hashlib
import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import accumulate, pairwise, zip_longest
from math import ceil, inf, log2, prod
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from opcheck import __version__, grouping
from opcheck.analysis import is_failure, outcome, reds, reds_of
from opcheck.model import Header, Known, Picture, Record, Run, Verdict
from opcheck.report import markdown, plain_text, totals

#: The most characters shown of a backend's text, which may have 10 MB, and of any text.
SAID, _LONGEST = 1000, 4000
#: The largest page, in bytes, and the room of its failures even if the list of results is larger.
_LARGEST, _LEAST = 4_800_000, 1_000_000
#: Placeholder for the case's id in a command.
PLACE = "\N{OBJECT REPLACEMENT CHARACTER}"
#: The most characters of a text in the list.
_SAID = 300


def said(text: str, limit: int = SAID) -> str:
    """The beginning of a backend's text, in as many lines as reports show."""
    return f"{plain_text.block(text[:limit])}{_left(text, limit)}"


def shown(text: str) -> str:
    """Any text as a page shows it."""
    return f"{plain_text.clean(text[:_LONGEST])}{_left(text, _LONGEST)}"


def brief(text: str) -> str:
    """Any text in one short line."""
    return plain_text.brief(text[:_LONGEST])


def render(template: str, **values: Any) -> str:
    """Render a template; values are escaped unless they are Markup."""
    return str(_environment().get_template(template).render(**values))


def document(template: str, **values: Any) -> str:
    """A whole page, which runs only its own script and fetches nothing."""
    script = _source("report.js")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = {"style": Markup(_source("style.css")), "script": Markup(script)}
    return render(template, **own, script_hash=f"sha256-{digest}", **values)


def _left(text: str, limit: int) -> str:
    left = len(text) - limit
    return f" … ({plain_text.plural(left, 'more character')})" if left > 0 else ""


@cache
def _environment() -> Any:
    environment = markdown.templates(
        "opcheck.report.html",
        autoescape=True,
        # Every text that a template prints is made harmless.
        finalize=lambda it: shown(it) if isinstance(it, str) and not isinstance(it, Markup) else it,
    )
    environment.filters |= {
        "said": said,
        "ending": lambda text: plain_text.ending(text[-2 * SAID :]),
        "brief": brief,
        # Rounded to tenths of a point.
        "point": lambda value: f"{value:.1f}".removesuffix(".0"),
        # The query of a link to some results; `report.js` compares shown texts.
        "filter": lambda asked: urlencode({name: shown(one) for name, one in asked.items() if one}),
        # Narrow screens may break a name between its parts.
        "breakable": lambda name: Markup(
            re.sub(r"([_:/?=,@.]|[a-z](?=[A-Z]))", r"\1<wbr>", str(escape(brief(name))))
        ),
    }
    environment.globals |= {
        # Rounded down: 100 % is all.
        "share": lambda part, whole: f"{part * 1000 // whole / 10:.1f} %",
        "used": lambda share: (
            "∞: no error is allowed" if share == inf else f"{share:.3g} × what is allowed"
        ),
        "made_by": __version__,
    }
    return environment


def _source(name: str) -> str:
    return Path(__file__).with_name("templates").joinpath(name).read_text("utf-8").strip()


#: Letters of `Picture.cells`, the colour of their cells, and its meaning. Colours darken, so that
#: maps can be read without them, and on a dark page.
LEVELS = (
    (".", "#d3d8dd", "no error"),
    ("abcdefghijklmnopqrstuvwxyz", "#8fbde0", "within what is allowed"),
    ("ABC", "#e0932f", "up to 8 times that"),
    ("DEFGHIJ", "#c85a20", "up to 1,024 times"),
    ("KLMNOPQRSTUVWXY", "#a02c1a", "more"),
    ("Z", "#5c1a70", "wrong where no error is allowed"),
)
_LEVEL = {letter: number for number, (letters, _, _) in enumerate(LEVELS) for letter in letters}
#: The room for the drawings of a page, in bytes.
ROOM = 800_000
#: A map, in points: the least and the largest width, the largest height, and of one cell.
_WIDTH, _HEIGHT, _CELL = (84.0, 236.0), 150.0, 20.0
#: A histogram: the width of a bar, and the largest of all, and the height.
_BAR, _WIDEST, _HIGH = 27.0, 300.0, 76.0
#: Margins for text: left, right, below, above.
_MARGINS = 40.0, 10.0, 32.0, 6.0


class Drawing(NamedTuple):
    """Content of an `<svg>`, its size in points, and its description."""

    width: float
    height: float
    inside: str
    about: str


def drawn(
    template: str, about: str, width: float, height: float, margin: float, **values: Any
) -> Drawing:
    """A drawing of axes of this size, between margins; `margin` is the left one."""
    _, right, below, above = _MARGINS
    size = {"width": width, "height": height, "corner": f"{margin:g} {above:g}"}
    inside = render(template, **size, **values).strip()
    return Drawing(width + margin + right, height + below + above, inside, about)


class Plots:
    """The drawings of a page. Equal ones are one; `left_out` counts pictures without any."""

    def __init__(self) -> None:
        self.left_out = 0
        self._room = ROOM
        self._drawn: dict[object, tuple[str, Drawing]] = {}

    @property
    def drawings(self) -> dict[str, Drawing]:
        """All drawings, by name."""
        return dict(self._drawn.values())

    def of(self, picture: Picture) -> list[tuple[str, Drawing]]:
        """The map and the histogram of a picture, by name, if it has them; nothing without room."""
        # Each by what it shows, with the function that makes it.
        wanted: dict[object, Callable[[Picture], Drawing]] = {}
        if picture.cells:
            wanted["map", picture.shape, picture.cells] = _map
        if picture.ulps or picture.unordered:
            wanted["ulps", picture.ulps, picture.unordered] = _histogram
        if self._room < 0 and wanted.keys() - self._drawn:
            self.left_out += 1
            return []
        for key, draw in wanted.items():
            if key not in self._drawn:
                self._drawn[key] = f"d{len(self._drawn)}", draw(picture)
                self._room -= len(self._drawn[key][1].inside)
        return [self._drawn[key] for key in wanted]


def _map(picture: Picture) -> Drawing:
    counts = [sum(_LEVEL[one] == n for row in picture.cells for one in row) for n in range(6)]
    message = ", ".join(f"{count:,} {LEVELS[n][2]}" for n, count in enumerate(counts) if count)
    about = f"Map of errors by position, of {plain_text.plural(sum(counts), 'cell')}: {message}"
    across, down = len(picture.cells[0]), len(picture.cells)
    cell = min(_CELL, _WIDTH[1] / across, _HEIGHT / down)
    width, height = max(_WIDTH[0], cell * across), cell * down if down > 1 else _CELL
    shape, rows = picture.shape, prod(picture.shape[:-1])
    return drawn(
        *("map.svg", about, width, height, _MARGINS[0]),
        label=f"axis {len(shape) - 1}" if shape else "",
        dots=Markup(f"data:image/png;base64,{b64encode(_png(picture.cells)).decode()}"),
        shape=shape,
        rows=rows,
        across=across,
        down=down,
        left=max(-5.0 * len(str(rows - 1)) - 10, -30),  # with letters of this width
    )


def _png(cells: Sequence[str]) -> bytes:
    """An image with a dot of its level's colour for each cell: https://www.w3.org/TR/png-3/."""
    colours = [bytes.fromhex(colour.removeprefix("#")) for _, colour, _ in LEVELS]
    data = b"".join(b"\0" + b"".join(colours[_LEVEL[one]] for one in row) for row in cells)
    head = struct.pack(">IIBBBBB", len(cells[0]), len(cells), 8, 2, 0, 0, 0)
    chunks = (b"IHDR" + head, b"IDAT" + zlib.compress(data, 9), b"IEND")
    # Each with its length before it, without its name, and its checksum after it.
    parts = (struct.pack(f">I{len(c)}sI", len(c) - 4, c, zlib.crc32(c)) for c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _histogram(picture: Picture) -> Drawing:
    """Draw bars as high as the logarithm of their count, with gaps for powers left out."""
    bars = [(_steps(bits), count, "--wrong" if bits else "--soft") for bits, count in picture.ulps]
    places = [0.6] * bool(bars)
    places += [1.0 if b == a + 1 else 1.5 for (a, _), (b, _) in pairwise(picture.ulps)]
    if picture.unordered:
        bars.append(("NaN", picture.unordered, "--wrong"))
        places.append(1.5 if places else 0.6)
    places = [*accumulate(places)]
    width = min(max(_WIDTH[0], _BAR * (places[-1] + 0.4)), _WIDEST)
    heights = [0.3 + log2(max(count, 1)) for _, count, _ in bars]
    wide, high = width / (places[-1] + 0.6), _HIGH / (max(heights) * 1.18 + 0.2)
    sized = zip(bars, places, heights, strict=True)
    counts = []
    for bits, count in picture.ulps:
        least, most = bits and 1 << (bits - 1), (1 << bits) - 1
        counts.append(f"{count:,} at {least if least == most else f'{least:,}–{most:,}'}")
    counts += [f"{picture.unordered:,} NaN opposite a number"] * bool(picture.unordered)
    about = f"Elements by their distance in ULP: {', '.join(counts)}"
    return drawn(
        *("histogram.svg", about, width, _HIGH, _MARGINS[1]),
        label="ULP off",
        bars=[(*bar, wide * place, high * height) for bar, place, height in sized],
        wide=wide,
        # Labels for which there is room.
        some=ceil(_BAR * len(bars) / _WIDEST),
    )


def _steps(bits: int) -> str:
    """The least distance of a bar: `0`, `1`, `2`, `4`, … `512`, `2¹⁰`."""
    if bits < 11:
        return str(bits and 1 << (bits - 1))
    return "2" + str(bits - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def lines(run: Run) -> Iterator[str]:
    """The whole document, line by line."""
    header, records, red = run.header, [*run.records], reds_of(run.header)
    code, meaning = outcome(run)
    known = list(totals.known(header.backends, records))
    numbers = {(address, cause): number for number, (address, cause, _) in enumerate(known)}
    data = htmlsafe_json_dumps(results_table(records, red, numbers), separators=(",", ":"))
    rows = {id(record): number for number, record in enumerate(records)}
    broken = broken_backends(header, records, red)
    groups = [group for *_, some in broken for group in some]
    room = max(_LARGEST - ROOM - len(data), _LEAST)
    dtypes, matrix = totals.matrix(header, records, red)
    options = ["--no-known"] * (not header.known) + ["--strict"] * header.strict
    options += ["--require-supported"] * header.require_supported
    options += [f"{name} {value}" for name, value in header.options.items()]
    drawn = Plots()
    yield from document(
        "run.html",
        run=run,
        header=header,
        names={backend.address: brief(str(backend)) for backend in header.backends},
        code=int(code),
        meaning=meaning,
        totals=totals.by_backend(header, records, red),
        dtypes=dtypes,
        matrix=matrix,
        verdicts=totals.counted(records, red),
        broken=broken,
        failures=sum(len(group.failures) for group in groups),
        left=show_some(groups, partial(_report, drawn=drawn, rows=rows, red=red), room),
        known=known,
        drawings=drawn.drawings,
        undrawn=drawn.left_out,
        levels=LEVELS,
        options=options or ["none"],
        data=data,
    ).split("\n")


def fragment(record: Record) -> str:
    """One result as the page shows it, unfolded, in a frame: its style changes nothing around."""
    drawn, style = Plots(), Markup(_source("style.css"))
    inside = Markup(_report(record, drawn, {id(record): 0}, reds()))
    part = render("part.html", style=style, inside=inside, drawings=drawn.drawings)
    return f'<iframe srcdoc="{escape(part)}" style="width:100%;height:30em;border:0"></iframe>'


def _report(record: Record, drawn: Plots, rows: Mapping[int, int], red: Collection[Verdict]) -> str:
    (count,) = totals.counted([record], red)
    telling = [one for one in record.comparisons if one.worst or one.unjudged or one.picture]
    return render(
        "failure.html",
        record=record,
        number=rows[id(record)],
        count=count,
        evidence=[(one, drawn.of(one.picture) if one.picture else []) for one in telling],
    )


@dataclass
class FailureGroup:
    """Failures of a backend that look alike, and the reports of those `shown` in full."""

    title: str
    places: Sequence[str]
    failures: Sequence[Record]
    shown: list[str] = field(default_factory=list)


def broken_backends(
    header: Header, records: Sequence[Record], red: Collection[Verdict]
) -> list[tuple[str, str, list[FailureGroup]]]:
    """Each backend with failures, their number in words, and groups: first those with a cause."""
    # A wrong case is shown once, though all backends meet it.
    once: dict[Hashable, Record] = {}
    for record in (record for record in records if is_failure(record, red)):
        is_bad = record.verdict is Verdict.BAD_CASE
        once.setdefault((record.case, record.reason) if is_bad else id(record), record)
    wrong = {who: (count, causes) for who, count, causes in totals.wrong(header, once.values())}
    titles = {
        Verdict.DIFFER: "backends that differ; the right answer is unknown",
        Verdict.UNEXPECTED_PASS: "right, where a ledger says that they fail",
        Verdict.UNSUPPORTED: "unsupported, which fails this run",
        Verdict.BAD_CASE: "the case itself is wrong",
    }
    found = []
    for address, failures in totals.of_backends(header.backends, once.values()).items():
        count, causes = wrong.get(address, ("", []))
        groups = [FailureGroup(one.looks, one.places, one.results) for one in causes]
        counts = [count] if count else []
        explained = {id(record) for cause in causes for record in cause.results}
        rest = (record for record in failures if id(record) not in explained)
        for verdict, some in grouping.group_by(rest, lambda record: record.verdict).items():
            places = dict.fromkeys(str(record.op) for record in sorted(some, key=lambda r: r.op))
            groups.append(FailureGroup(titles.get(verdict, verdict.value), [*places], some))
            counts.append(f"{len(some):,} {verdict.value}")
        found.append((address, ", ".join(counts), groups))
    return found


def show_some(groups: Sequence[FailureGroup], report: Callable[[Record], str], room: int) -> int:
    """Show failures in `room` bytes, the first of each group first; return the number left out."""
    # One of each group, then the second of each, and so on.
    turns = zip_longest(*(group.failures for group in groups))
    for group, record in (pair for row in turns for pair in zip(groups, row, strict=True)):
        if record is not None and room > 0:
            text = report(record)
            room -= len(text.encode())
            group.shown += [text] * (room > 0)
    return sum(len(group.failures) - len(group.shown) for group in groups)


def results_table(
    records: Sequence[Record], red: Collection[Verdict], known: Mapping[tuple[str, Known], int]
) -> dict[str, Any]:
    """Return the data of `report.js`: `results` are rows of the columns in `columns`.

    A column whose name begins with `$` holds numbers of `texts`, 0 for "". `known` numbers the
    known defects; results without one have -1. In commands, PLACE stands for the case's id.
    """
    texts = {"": 0}
    columns = (
        *("$case", "$backend", "$verdict", "$sign", "$tone", "$op", "$dtype"),
        *("$reason", "$asked", "$clause", "$written", "$repeat", "$alternative"),
        *("used", "ms", "known"),
    )
    rows = []
    for record in records:
        (count,) = totals.counted([record], red)
        listed = record.known if count.name == Verdict.KNOWN else None
        cause = listed and totals.cause_of(listed)
        case, used = shown(record.case), record.used
        # A command may contain PLACE itself.
        repeat = shown(record.repeat).replace(PLACE, "\ufffd")
        # A pass needs no explanation.
        passed = record.verdict is Verdict.PASS
        found = (
            *(case, shown(record.backend), count.name, count.sign, count.tone),
            *(shown(str(record.op)), shown(record.dtype or totals.NONE)),
            *(said(record.reason, _SAID), "" if passed else said(record.question, _SAID)),
            *(said(record.clause, _SAID), shown(str(record.source))),
            *(repeat.replace(case, PLACE), said(record.alternative or "", _SAID)),
        )
        rows.append(
            [
                *(texts.setdefault(text, len(texts)) for text in found),
                # JSON has no infinity.
                "∞" if used == inf else used and float(f"{used:.3g}"),
                round(record.seconds * 1e3, 2),
                known.get((record.backend, cause), -1) if cause else -1,
            ]
        )
    return {"columns": columns, "texts": [*texts], "results": rows}
