"""The findings of `opcheck locate`: in a terminal, and as files that need no opcheck."""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import isfinite, log10
from pathlib import Path

from rich.console import Console

from opcheck import graph
from opcheck.graph.folders import folder_name, tensor_bytes, write_whole
from opcheck.grouping import not_none
from opcheck.model import BackendInfo, Environment, Record, Task, Tensors, TensorSpec, Verdict
from opcheck.model.located import JudgedNode, Located
from opcheck.report import formatting, plain_text, summary, write_text
from opcheck.report.style import Numbers, new_table, put
from opcheck.suite.tensors import case_file


def show(console: Console, located: Located, backend: BackendInfo, again: Sequence[str]) -> None:
    """Print the first wrong node, with the command that shows it `again`, and what was judged."""
    if located.wrong:
        summary.show_failure(console, _record(located.wrong, again))
    if located.right_alone:
        console.print(
            "As a model of its own, on the same inputs, the node is right: the mistake"
            " depends on names, constants or the rest of the model.\n"
        )
    if located.together:
        gives = ", ".join(filter(None, located.together.outputs))
        where = plain_text.one_line(f"{located.together.name}, which gives {gives}")
        what = "No node is wrong by itself, and the model's answer is."
        if located.wrong:
            what = "No node before it is wrong by itself, and what it reads is."
        console.print(
            f"{what} It is right if an output of node {located.together.place} is one of the model:"
            f" {where}. What reads it is computed together with it, and wrong.\n"
        )
    if located.depths:
        table = new_table(*map(Numbers, ("node", "error", "explained", "times")), "operator", "")
        table.columns[-2].no_wrap = True
        for depth in located.depths:
            numbers = (f"{depth.error:.1e}", f"{depth.expected:.1e}", f"{depth.ratio:.2g}")
            is_wrong = located.wrong is not None and depth.part == located.wrong.part
            operator = f"{depth.part.op.name} (wrong)" if is_wrong else depth.part.op.name
            bar = "█" * round(24 * max(0.0, min(1.0, (log10(depth.error or 1e-9) + 8) / 8)))
            table.add_row(str(depth.part.place), *numbers, operator, bar)
        console.print(f"Error of {backend} after each node, and what rounding alone explains:")
        put(console, table)
        if located.wrong and located.depths[-1].part.place > located.wrong.part.place:
            place = located.wrong.part.place
            console.print(
                f"Nodes after {place} compute with its error. The counts below judge each node on"
                " its own inputs."
            )
        console.print()
    for line in _counts(located):
        console.print(line, soft_wrap=True)


def _record(node: JudgedNode, again: Sequence[str]) -> Record:
    """Return a node's result as it is reported, with the command that shows it `again`."""
    record = formatting.Recorder([node.result.case]).record(node.result)
    return replace(record, repeat=shlex.join(again))


#: The most remarks on nodes that are counted one by one.
_REMARKS = 6


def _counts(located: Located) -> Iterator[str]:
    """Yield lines that say how the model and its nodes were judged, and which were not."""
    yield f"the model  {_verdict_of_model(located)}"
    small = {node.part.place for node in located.small}
    counts = Counter(
        Verdict.WARN if node.part.place in small else node.result.verdict for node in located.nodes
    )
    verdicts = ", ".join(
        f"{counts[verdict]:,} {verdict}" for verdict in Verdict if verdict in counts
    )
    yield f"nodes      {len(located.nodes):,} judged on their own inputs: {verdicts or 'none'}"
    others = located.total - len(located.nodes) - len(located.around)
    if others:
        yield f"           {others:,} others of {located.total:,} are constants"
    for line in (
        *_deviations(located.failing, "wrong, by"),
        *_deviations(located.small, "off by only"),
        *_remarks(located),
    ):
        yield f"           {line}"
    if located.branches:
        yield f"branches   {_branches(located)}"
    for reason, count in Counter(why for _, why in located.around).most_common():
        yield f"around     {plain_text.plural(count, 'node')}: {reason}"
    if located.exposed:
        yield f"exposed    {plain_text.one_line(located.exposed)}"
    if not located.nodes and located.exposed:
        yield "alone      opcheck extract writes the nodes as cases; opcheck run judges each alone"


def _verdict_of_model(located: Located) -> str:
    """Return the verdict on the whole model with its reason, on one line."""
    whole = located.whole
    if whole is None:
        return "its answer is not known: opcheck lacks an operator of it"
    if whole.reason:
        return plain_text.one_line(f"{whole.verdict}: {whole.reason}")
    return plain_text.one_line(str(whole.verdict))


def _deviations(nodes: Iterable[JudgedNode], how: str) -> Iterator[str]:
    """Yield by operator how many nodes are wrong, and by how much at most."""
    by_operator: dict[str, list[JudgedNode]] = defaultdict(list)
    for node in nodes:
        by_operator[node.part.op.name].append(node)
    for operator, of_operator in by_operator.items():
        most = max(node.harm for node in of_operator)
        description = f"{how} {most:.1e} of the output's size at most"
        if not isfinite(most):
            description = "wrong"
        yield f"{len(of_operator):,} {operator}: {description}"


def _remarks(located: Located) -> Iterator[str]:
    """Yield the most frequent reasons of warnings, and of nodes that are too large to judge."""
    results = [node.result for node in located.nodes]
    reasons: Counter[tuple[str, str]] = Counter()
    for result in results:
        if result.verdict is Verdict.WARN and result.comparisons:
            remark = result.comparisons[0].remark or result.reason
            reasons[result.case.op.name, remark] += 1
    for result in results:
        if result.beyond:
            reasons[result.case.op.name, result.reason] += 1
    shown = reasons.most_common(_REMARKS)
    for (operator, remark), count in shown:
        yield f"{count:,} {operator}: {remark}"
    left = sum(reasons.values()) - sum(count for _, count in shown)
    if left:
        yield f"{left:,} others, for other reasons"


def _branches(located: Located) -> str:
    """Say that branches of `If` were judged in place of it, and if it may itself be wrong."""
    nodes = plain_text.plural(located.branches, "If")
    line = f"{nodes}: the taken branch is judged in place of the node"
    is_wrong = located.whole and located.whole.failure
    if located.nodes and is_wrong and not (located.wrong or located.together):
        line += ", and no node in it is wrong: the If may be"
    return line


def write(folder: Path, wrong: JudgedNode, task: Task, inputs: Tensors, backend: str) -> Path:
    """Write a wrong node, as a `task` on `inputs`, with a script without opcheck; return where."""
    case = wrong.result.case
    target = folder / folder_name(case.name)
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / "node.onnx", graph.model_of(task).SerializeToString())
    right = zip(graph.output_names(task), wrong.right, strict=True)
    for name, array in (*task.feed(inputs).items(), *task.initializers.items(), *right):
        write_whole(target / f"{name}.pb", tensor_bytes(array, name))
    named = replace(case, name=f"node_{wrong.part.place}")
    text = case_file([named], _in_file)
    (target / "case.yaml").write_text(text, encoding="utf-8")
    script = Path(__file__).with_name("templates").joinpath("show.txt").read_text("utf-8")
    title = f"{case.op} as node {case.name} of {Path(case.source.file).name}"
    kind = backend.partition(":")[0].partition("?")[0]
    # Names are a stranger's, so that they are data there.
    words = {"title": title, "backend": backend, "kind": kind}

    def quoted(match: re.Match[str]) -> str:
        return ascii(plain_text.one_line(words[match[1]]))

    script = re.sub("@([a-z]+)@", quoted, script)
    (target / "show.py").write_text(script, encoding="utf-8")
    return target


def write_issue(
    target: Path,
    located: Located,
    again: Sequence[str],
    backend: BackendInfo,
    environment: Environment,
) -> None:
    """Write the text of an issue about the first wrong node next to its files in `target`.

    There is such a node; it may be off by its arithmetic alone, a warning. `again` is the command
    that shows the mistake. Raises Unwritable if the file cannot be written.
    """
    # Only this page needs templates.
    from opcheck.report.markdown import rendered

    node = not_none(located.wrong)
    case = node.result.case
    packages = [f"{name} {version}" for name, version in environment.packages.items()]
    lines = rendered(
        "issue.md",
        result=_record(node, again),
        op=str(case.op),
        backend=str(backend),
        place=node.part.place,
        total=located.total,
        model=Path(case.source.file).name,
        fails=node.fails,
        right_alone=located.right_alone,
        versions=[
            f"opcheck {environment.opcheck}",
            f"Python {environment.python}",
            environment.platform,
            *packages,
        ],
    )
    write_text(target / "issue.md", "".join(f"{line}\n" for line in lines))


def _in_file(spec: TensorSpec) -> dict[str, str]:
    """Return a tensor as the case file states it: its values are in a file of its name."""
    return {"file": f"{spec.name}.pb"}
