"""`opcheck diff`."""

from pathlib import Path

import click

from opcheck.cli import options
from opcheck.cli.options import PATH, STANDARD, OutputCommand, flag, leave
from opcheck.errors import UsageError


@click.command(name="diff", cls=OutputCommand)
@click.argument("old_path", type=PATH, metavar="OLD")
@click.argument("new_path", type=PATH, metavar="NEW")
@flag("--common", help="Where NEW was asked for less than OLD, compare what both were asked for.")
@options.format_option(
    *("json", "markdown"),
    show_default=True,
    help="json: a line a change; markdown: a page for pull requests.",
)
@options.out_option
@flag("-v", "--verbose", help="Every change, however many there are.")
def command(
    old_path: Path, new_path: Path, common: bool, form: str, out: Path | None, verbose: bool
) -> None:
    """Show what changed from one stored run to another: a gate that lets old failures pass.

    Results are held against each other by case and by the address of the backend. A regression is
    what is red now and was not, what is no longer supported or no longer run, and what is missing
    in NEW though it was asked for. A case that was edited is reported, and not compared.

    \b
    opcheck run -b mine --report json=new.jsonl; opcheck diff main.jsonl new.jsonl
    opcheck diff main.jsonl new.jsonl --format markdown -o comment.md
    opcheck diff all.jsonl some.jsonl --common       NEW has fewer cases, on purpose
    opcheck diff a.jsonl b.jsonl --format json | jq 'select(.regression)'

    Exit codes: 0 no regression, 1 some, 2 a file cannot be read, or is both, 4 a run is
    incomplete, NEW was asked for less than OLD, or the output cannot be written, 5 nothing could be
    compared.
    """
    from opcheck.analysis.comparing import apart, compare, judged
    from opcheck.report import diff

    if verbose and form != "pretty":
        raise UsageError(f"-v is for --format pretty, not for {form}")
    options.check_files([(f"-o {out}", out)], [old_path, new_path])
    old, new = options.read_runs(old_path, new_path)
    if STANDARD not in (old_path, new_path) and old_path.samefile(new_path):
        raise UsageError(f"{old_path} and {new_path} are one file: nothing can have changed")
    if apart(old.header, new.header) < 0:
        click.echo(f"opcheck: {new_path} began before {old_path}: is it NEW?", err=True)
    found = compare(old, new)
    if form == "pretty":
        with options.printed(out) as console:
            diff.show(console, old, new, found, common=common, verbose=verbose)
    else:
        lines = diff.lines if form == "json" else diff.markdown_lines
        options.write_lines(out, lines(old, new, found, common=common))
    leave(judged(old, new, found, common=common)[0])
