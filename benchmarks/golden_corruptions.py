"""How many damages to a golden folder are found before it is judged: all, or it is told which not.

python -m benchmarks.golden_corruptions [--count 2000] [--seed 0]

A small golden folder is damaged in one way after the other, each drawn at random, and checked. A
damage is found where the check names a file that was touched; it is harmless where every file has
the bytes and the name that it had before.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from opcheck.execution.golden import write
from opcheck.suite import golden_files, load
from opcheck.suite.golden_files import MANIFEST, SUMS

#: Every operator, each kind of test, every method, and both tolerances.
CASES = (
    "Hardmax/axis_out_of_range@opset=11,dtype=float16,attrs.axis=2",
    "Hardmax/coerced_to_2d@opset=11,dtype=float32#axis_1",
    "Softmax/worked_example@opset=1,dtype=float64",
    "LpPool/fractional_p@dtype=float32#random_2.5",
    "LpPool/three_and_four_dimensions@opset=22,dtype=float32#6x3x8_with_strides_and_pads",
    "DML_ACTIVATION_HARDMAX1/unsorted_axes@dtype=float16#axes_2_0",
)

#: The paths that a damage touches; none where it found nothing to do.
Touched: TypeAlias = set[str]
Damage: TypeAlias = Callable[[random.Random, Path], Touched]


def files(folder: Path) -> list[str]:
    """All files of a folder, by their paths in it."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """What lies in a folder: the bytes of files, where links lead."""
    return {
        path.relative_to(folder).as_posix(): (
            f"-> {path.readlink()}"
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else ""
        )
        for path in folder.rglob("*")
    }


def flipped(draw: random.Random, folder: Path) -> Touched:
    """One bit of a file."""
    name = draw.choice(files(folder))
    data = bytearray((folder / name).read_bytes())
    if not data:
        return set()
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    (folder / name).write_bytes(data)
    return {name}


def truncated(draw: random.Random, folder: Path) -> Touched:
    """The end of a file, or all of it."""
    name = draw.choice(files(folder))
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: draw.randrange(max(len(data), 1))])
    return {name}


def grown(draw: random.Random, folder: Path) -> Touched:
    """Some bytes more."""
    name = draw.choice(files(folder))
    with (folder / name).open("ab") as file:
        file.write(draw.randbytes(draw.randint(1, 40)))
    return {name}


def overwritten(draw: random.Random, folder: Path) -> Touched:
    """A stretch of zeros, or of anything."""
    name = draw.choice(files(folder))
    data = bytearray((folder / name).read_bytes())
    start = draw.randrange(len(data) + 1)
    count = min(draw.randint(1, 64), len(data) - start)
    data[start : start + count] = draw.choice([bytes(count), draw.randbytes(count)])
    (folder / name).write_bytes(data)
    return {name}


def swapped(draw: random.Random, folder: Path) -> Touched:
    """Two files in each other's place."""
    one, other = draw.sample(files(folder), 2)
    data = (folder / one).read_bytes()
    (folder / one).write_bytes((folder / other).read_bytes())
    (folder / other).write_bytes(data)
    return {one, other}


def removed(draw: random.Random, folder: Path) -> Touched:
    """A file that is gone."""
    name = draw.choice(files(folder))
    (folder / name).unlink()
    return {name}


def added(draw: random.Random, folder: Path) -> Touched:
    """A file more, like another or like none."""
    # Beside the tests there may be anything.
    like = draw.choice([name for name in files(folder) if "/" in name])
    shouted = Path(like).with_name(Path(like).name.upper()).as_posix()
    name = draw.choice([f"{like}.part", shouted, like.replace("_0", "_1")])
    path = folder / name
    if path.exists():
        return set()
    fresh = next((parent for parent in reversed(path.parents) if not parent.exists()), path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((folder / like).read_bytes())
    return {fresh.relative_to(folder).as_posix(), name}


def linked(draw: random.Random, folder: Path) -> Touched:
    """A link in a file's place, to a copy outside or to nothing."""
    name = draw.choice(files(folder))
    outside = folder.parent / "outside"
    outside.write_bytes((folder / name).read_bytes())
    (folder / name).unlink()
    (folder / name).symlink_to(draw.choice([outside, Path("/nowhere")]))
    return {name}


def renamed(draw: random.Random, folder: Path) -> Touched:
    """A test under another name."""
    tests = sorted(path for path in folder.glob("*/test_*"))
    test = draw.choice(tests)
    path = test.relative_to(folder).as_posix()
    other = test.with_name(draw.choice([test.name.upper(), f"{test.name}0"]))
    gone = {f"{path}/{name}" for name in files(test)}
    test.rename(other)
    return {*gone, other.relative_to(folder).as_posix()}


DAMAGES: tuple[Damage, ...] = (
    *(flipped, truncated, grown, overwritten, swapped, removed),
    *(added, linked, renamed),
)


def made(folder: Path) -> None:
    """A small golden folder with everything that one can hold."""
    cases = [case for case in load(()) if case.id in CASES]
    assert len(cases) == len(CASES)
    write(folder, cases, "some")


def fate(draw: random.Random, folder: Path, damage: Damage) -> str:
    """What becomes of a damage: "found", "harmless", or else in what the check fails."""
    before = snapshot(folder)
    touched = damage(draw, folder)
    if snapshot(folder) == before:
        return "harmless"
    # Whichever of the two was damaged: one vouches for the other.
    if touched & {MANIFEST, SUMS}:
        touched |= {MANIFEST, SUMS}
    _, findings = golden_files.damage(folder, "")
    if not findings:
        return "not found"
    return "found" if touched & findings.keys() else "found elsewhere"


def restore(folder: Path, before: dict[str, bytes | str]) -> None:
    """Make the folder what it was."""
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder).as_posix()
        if name not in before or path.is_symlink():
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, data in sorted(before.items()):
        path = folder / name
        if isinstance(data, str):
            path.mkdir(exist_ok=True)
        elif not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)


def fates(folder: Path, count: int, seed: int) -> Counter[tuple[str, str]]:
    """The fates of so many damages, by the name of the damage."""
    draw = random.Random(seed)
    before = snapshot(folder)
    found: Counter[tuple[str, str]] = Counter()
    for number in range(count):
        damage = DAMAGES[number % len(DAMAGES)]
        found[damage.__name__, fate(draw, folder, damage)] += 1
        restore(folder, before)
    return found


def main() -> None:
    """Damage a folder, and print what was found."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=0)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "golden")
        made(folder)
        assert not golden_files.damage(folder, "")[1]
        found = fates(folder, asked.count, asked.seed)
    for (damage, what), count in sorted(found.items()):
        print(f"{damage:12} {what:16} {count:6,}")
    bad = sum(count for (_, what), count in found.items() if what not in ("found", "harmless"))
    print(f"{bad} of {asked.count:,} damages were not found (seed {asked.seed})")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
