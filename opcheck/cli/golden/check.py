"""`opcheck golden check`."""

from __future__ import annotations

from pathlib import Path

import click

from opcheck.cli.options import end, processes_option
from opcheck.errors import Exit


@click.command(name="check")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@processes_option
def command(folder: Path, jobs: int | None) -> None:
    """Check such a folder: every file, every model, every answer.

    Every file must be there, be listed in the manifest and have its SHA-256; every model must be
    valid and state what the manifest says; tensors must have their names, dtypes and shapes; and
    both oracles of this opcheck must give the answers that were written. Everything that is wrong
    is told at once, a line a file. The folder may come from a stranger: nothing outside it is read,
    and nothing in it is unpickled.

    \b
    opcheck golden check golden
    (cd golden && sha256sum --quiet -c SHA256SUMS)   the files alone, without opcheck

    Exit codes: 0 all is right, 1 something is wrong, 2 this is no golden folder, 5 there is no test
    in it, 130 interrupted.
    """
    from opcheck.cli.console import counted
    from opcheck.report.words import one_line, plural
    from opcheck.run.golden.contents import check
    from opcheck.run.machine import processors

    with counted("checking", None) as each:
        checked = check(folder, jobs or processors(), each)
    for finding in checked.findings:
        click.echo(one_line(f"{folder}/{finding.path}: {finding.message}"))
    looked_at = ", ".join(
        plural(count, noun)
        for count, noun in (
            (checked.cases, "case"),
            (checked.tests, "test"),
            (checked.judged, "data set"),
            (checked.files, "file"),
        )
    )
    if checked.findings:
        count = len({finding.path for finding in checked.findings})
        end(Exit.NONCONFORMING, f"{plural(count, 'path')} wrong; {looked_at}")
    if not checked.judged:
        end(Exit.NOTHING_JUDGED, f"nothing was checked: {looked_at}")
    end(Exit.CONFORMS, f"every file is as it was written, and right: {looked_at}")
