"""How many of a sample of mutants of opcheck's own code its tests kill.

    pip install cosmic-ray
    python benchmarks/mutation_sample.py compare 40
    python benchmarks/mutation_sample.py timing 40 --seed 7
    python benchmarks/mutation_sample.py compare 40 tests/compare tests/cli tests/execution

Takes places in `opcheck/compare`, or in `opcheck/timing.py`, at random, the same ones for the same
seed, changes one at a time in this checkout, and asks `tests/compare`, or the tests that are named.
Annotations and decorators are left alone. Leave the checkout alone, too, while it runs.
"""

import argparse
import ast
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

#: Seconds that tests have for one mutant: one that makes them hang is seen.
LIMIT = 240
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]


def spared(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield where annotations and decorators, which are no behaviour, begin and end."""
    for node in ast.walk(ast.parse(text)):
        typed = [getattr(node, name, None) for name in ("annotation", "returns")]
        for part in typed + getattr(node, "decorator_list", []):
            if part is not None:
                # A decorator begins with its @.
                yield (part.lineno, part.col_offset - 1), (part.end_lineno, part.end_col_offset)


def mutants(path: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """The mutants of a file by line and column, each an operator and which of its places it is."""
    text = path.read_text()
    left_out, nodes = [*spared(text)], [*ast_nodes(get_ast(text))]
    found = defaultdict(list)
    for name in sorted(operator_names()):
        if (kind := get_operator(name)).arguments():
            continue
        starts = (start for node in nodes for start, _ in kind().mutation_positions(node))
        for number, start in enumerate(starts):
            if not any(low <= start <= high for low, high in left_out):
                found[start].append((name, number))
    return found


def survives(path: Path, name: str, number: int, asked: list[str]) -> bool:
    """Return True if the tests pass although the file is changed."""
    before = path.read_text()
    path.write_text(mutate_code(before, get_operator(name)(), number))
    try:
        done = subprocess.run([*PYTEST, *asked], capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(before)
    return done.returncode == 0


def files_of(area: str) -> list[Path]:
    """The files of a folder of opcheck, or one of its files, named without its suffix."""
    folder = Path("opcheck", area)
    return [file] if (file := folder.with_suffix(".py")).is_file() else sorted(folder.rglob("*.py"))


def main() -> None:
    """Take the sample, try each, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("area", help="a folder or a file of opcheck: compare, timing")
    parser.add_argument("count", type=int)
    parser.add_argument("tests", nargs="*", help="tests/AREA unless named")
    parser.add_argument("--seed", type=int, default=0)
    asks = parser.parse_args()
    files = {path: mutants(path) for path in files_of(asks.area)}
    dice = random.Random(asks.seed)
    places = [(path, place) for path, found in files.items() for place in sorted(found)]
    if len(places) < asks.count:
        parser.error(f"opcheck/{asks.area} has {len(places)} places to change, not {asks.count}")
    killed = 0
    for path, place in dice.sample(places, asks.count):
        name, number = dice.choice(files[path][place])
        lives = survives(path, name, number, asks.tests or [f"tests/{asks.area}"])
        killed += not lives
        said = f"{path}:{place[0]}:{place[1]}  {name} {number}"
        print("survived" if lives else "killed  ", said, flush=True)
    print(f"{killed} of {asks.count} killed")


if __name__ == "__main__":
    main()
