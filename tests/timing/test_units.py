import math
import subprocess
import sys
from pathlib import Path

from opcheck.model.timing import Sample
from opcheck.timing.ratios import by_worker, medians, pairs

ROOT = Path(__file__).parent.parent.parent


def sample(round_: int, seconds: float, worker: int = 0) -> Sample:
    return Sample(round_, worker, 1, seconds)


def test_pairs_are_of_rounds_that_both_took_part_in():
    found = pairs(
        [sample(3, 6.0), sample(0, 1.0, 1), sample(2, 2.0)], [sample(0, 2.0), sample(3, 3.0)]
    )
    assert [(pair.round, pair.worker) for pair in found] == [(0, 1), (3, 0)]
    assert [math.exp(pair.log) for pair in found] == [0.5, 2.0]


def test_the_workers_are_those_of_the_first():
    (found,) = pairs([sample(0, 1.0, worker=4)], [sample(0, 1.0, worker=2)])
    assert found.worker == 4


def test_each_worker_has_one_median_however_many_samples():
    ones = [sample(0, 1.0, 7), *(sample(r, float(r), 2) for r in range(1, 6))]
    found = pairs(ones, [sample(r, 1.0) for r in range(6)])
    assert {worker: len(group) for worker, group in by_worker(found).items()} == {2: 5, 7: 1}
    assert medians(found) == {2: math.log(3), 7: 0.0}


def test_scipy_waits_until_it_is_needed():
    modules = sorted(path.stem for path in (ROOT / "opcheck" / "timing").glob("*.py"))
    names = ", ".join(f"opcheck.timing.{name}" for name in modules)
    program = f"import sys, {names}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
