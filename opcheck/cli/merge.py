"""`opcheck merge`."""

from pathlib import Path

import click

from opcheck.cli import options
from opcheck.cli.options import OutputCommand, OutputPath, end, flag, output_option
from opcheck.errors import Exit
from opcheck.report.plain_text import one_line, plural


@click.command(name="merge", cls=OutputCommand)
@click.argument("paths", nargs=-1, required=True, type=options.PATH, metavar="RUN...")
@output_option("out", OutputPath(), "FILE", "The whole; `-` is standard output.")
@flag("--mixed-versions", help="Also join runs of several opchecks.")
def command(paths: tuple[Path, ...], out: Path, mixed_versions: bool) -> None:
    """Join stored runs of one suite into one: other backends, or other parts of the cases.

    What they were asked has to be one selection of the same cases, judged by the same rules, and no
    result may stand in two of them. Where shards are missing, or a run was cut short, so is the
    whole, and missing results are reported.

    \b
    opcheck merge cpu.jsonl gpu.jsonl -o all.jsonl
    opcheck merge shard-*.jsonl -o all.jsonl && opcheck report all.jsonl

    Exit codes: 0 the whole is complete, whatever its verdicts; 2 a file cannot be read, or they are
    no parts of one whole; 4 it is incomplete, or cannot be written.
    """
    from opcheck.analysis.comparing import RunPart, merge
    from opcheck.analysis.status import several_builds
    from opcheck.report import store

    options.check_files([(f"-o {out}", out)], paths)
    runs = options.read_runs(*paths)
    parts = [RunPart(str(path), run) for path, run in zip(paths, runs, strict=True)]
    whole, lacks = merge(parts, mixed_versions=mixed_versions)
    options.write_lines(out, store.lines(whole))
    header = whole.header
    for said in (*lacks, *several_builds(header)):
        click.echo(f"opcheck: {one_line(said)}", err=True)
    counts = len(whole.records), header.cases, len(header.backends)
    message = ", ".join(map(plural, counts, ("result", "case", "backend")))
    code = Exit.CONFORMS if whole.complete else Exit.UNUSABLE
    meaning = "joined" if whole.complete else "incomplete"
    end(code, f"{meaning}: {message}", err=str(out) == "-")
