"""The slowest cases of a run, by backend."""

from collections.abc import Sequence
from heapq import nlargest
from operator import attrgetter

from rich.console import Console
from rich.text import Text

from opcheck.model import Header, Record
from opcheck.report import plain_text
from opcheck.report.style import Numbers, new_table, put_all, say
from opcheck.report.totals import of_backends


def show(console: Console, header: Header, results: Sequence[Record], count: int) -> None:
    """Print so many of the slowest cases of each backend, with the time that the backend took."""
    names = {info.address: plain_text.brief(str(info)) for info in header.backends}
    for address, mine in of_backends(header.backends, results).items():
        slowest = nlargest(count, mine, key=attrgetter("seconds"))
        total = sum(result.seconds for result in mine)
        number = plain_text.plural(len(slowest), "slowest case", "slowest cases")
        heading = (
            f"{number} of {len(mine):,} on {names[address]}, {plain_text.seconds(total)} in all"
        )
        say(console, heading, "bold")
        table = new_table(Numbers("time"), "verdict", "case")
        for result in slowest:
            time = plain_text.seconds(result.seconds) if result.seconds else "–"
            table.add_row(time, result.verdict.value, Text(plain_text.brief(result.case)))
        put_all(console, table)
