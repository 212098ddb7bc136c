"""`opcheck golden import`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opcheck.cli.options import end
from opcheck.cli.outputs import Command, Output
from opcheck.errors import Exit, UsageError

if TYPE_CHECKING:
    from opcheck.report.node_yaml import Named

#: How much is told of what is wrong with a folder: names in models are as long as anybody likes.
_LENGTH = 1000
_SUFFIXES = (".yaml", ".yml")


@click.command(name="import", cls=Command)
@click.argument(
    "folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR..."
)
@click.option(
    "-o",
    "--output",
    "file",
    type=Output(lambda path, words: "--force" in words and path.is_file(), dir_okay=False),
    required=True,
    metavar="FILE",
    help="The case file to be made, FILE.yaml.",
)
@click.option("--force", is_flag=True, help="Replace files that are there.")
def command(folders: Sequence[Path], file: Path, force: bool) -> None:
    """Make a case file of tests in the layout of ONNX's test data.

    DIR holds model.onnx, whose graph is a single node, and test_data_set_0 and so on, of which each
    becomes a case. Several folders must be of one operator. Tensors of up to 256 elements are
    written out, in the fewest digits that give the same bits; larger ones, and those with a NaN of
    unusual bits, go into .npy files beside FILE. What a case cannot state is refused by name: a
    graph of several nodes, constants, subgraphs, strings and other types than numbers.

    \b
    opcheck golden import node/test_gemm_all_attributes -o gemm.yaml
    opcheck golden import node/test_top_k* -o top_k.yaml
    opcheck run gemm.yaml -b onnxruntime
    opcheck golden write gemm.yaml -o again    and back

    The tolerance is that of data.json, or else of ONNX's own runner (rtol 0.001, atol 1e-7).

    Exit codes: 0 written, 2 a folder or the command line is wrong, 4 it cannot be written.
    """
    from opcheck.report.node_yaml import written
    from opcheck.report.words import plural
    from opcheck.run.writing import place

    _check_file(file)
    nodes = _nodes(folders)
    made = written(nodes, file.stem)
    count = place(file, made.text, made.files, made.tensors, force=force)
    beside = f", and {plural(len(made.files), 'array')} beside it" if made.files else ""
    end(Exit.CONFORMS, f"{plural(count, 'case')} in {file}{beside}")


def _check_file(file: Path) -> None:
    if file.suffix not in _SUFFIXES:
        raise UsageError(f"-o {file}: a case file ends in {' or '.join(_SUFFIXES)}")
    if not file.parent.is_dir():
        raise UsageError(f"-o {file}: there is no folder {file.parent}")


def _nodes(folders: Sequence[Path]) -> list[Named]:
    """The tests in the folders; raises UsageError with everything that is wrong with each."""
    from opcheck.graph.data_files import Unfit, tolerance_in
    from opcheck.graph.one_node import read
    from opcheck.report.case_yaml import name_of
    from opcheck.report.node_yaml import Named
    from opcheck.report.words import one_line

    nodes: list[Named] = []
    wrong: list[str] = []
    for folder in folders:
        try:
            _check_folder(folder)
            node = read(folder)
            rtol, atol = tolerance_in(folder)
        except (Unfit, OSError) as error:
            wrong.append(f"{folder}: {one_line(str(error))[:_LENGTH]}")
            continue
        words = name_of(folder.resolve().name)
        name = words.removeprefix("test_") or words
        name = name if name[:1].isalpha() else f"test_{name}"
        if any(name == other.name for other in nodes):
            wrong.append(f"{folder}: a folder before it is called {name} too")
        if nodes and node.schema.op.name != nodes[0].node.schema.op.name:
            first = nodes[0].node.schema.op.name
            wrong.append(f"{folder}: {node.schema.op.name}, and a case file is about one: {first}")
        nodes.append(Named(name, folder.resolve().name, node, rtol, atol))
    if wrong:
        raise UsageError("\n".join(wrong))
    return nodes


def _check_folder(folder: Path) -> None:
    """Raise Unfit where a folder is none, or one of tests, with a hint at what was meant."""
    from opcheck.graph.data_files import Unfit
    from opcheck.graph.folders import MODEL

    if not folder.is_dir():
        raise Unfit("this is no folder" if folder.exists() else "there is no such folder")
    if not (folder / MODEL).exists() and not (folder / MODEL).is_symlink():
        below = sorted(path.parent for path in folder.glob(f"*/{MODEL}"))
        hint = f"; {below[0]} has one" if below else ""
        raise Unfit(f"there is no {MODEL} in it{hint}")
