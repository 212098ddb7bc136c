"""Runs as large as real ones, made by hand."""

import random
from dataclasses import replace

from opcheck import model
from tests.report.made import header, record
from tests.report.runs import KNOWN

_NAMES = "Hardmax", "LpPool", "Softmax"
_OPS = [model.OpVersion("", name, since) for name in _NAMES for since in (1, 11)]
_DTYPES = ("float16", "float32", "float64", "bfloat16")
_LOOKS = [model.Diagnosis(f"mistake_{n}", f"as if mistake number {n} was made") for n in range(20)]


def pictured(seed: int = 1, rows: int = 12, columns: int = 30) -> model.Picture:
    """A picture of errors that lie anywhere."""
    chance = random.Random(seed)
    cells = tuple("".join(chance.choices(".zyxABCZ", k=columns)) for _ in range(rows))
    steps = tuple((bits, chance.randint(1, 99)) for bits in sorted(chance.sample(range(40), 5)))
    return model.Picture((rows, columns), steps, chance.randint(0, 3), cells)


def many(cases: int, backends: tuple[str, ...], failing: float) -> model.Run:
    """A run of which so large a part of the results fails, each in its own way."""
    chance = random.Random(0)
    about = replace(header(*backends, cases=cases))
    plain, records = record(), []
    for place in range(cases):
        op, dtype = _OPS[place % len(_OPS)], _DTYPES[place % len(_DTYPES)]
        case = f"{op.name}/behaviour_{place}@dtype={dtype},opset={op.since},attrs.axis=-1#row"
        for backend in backends:
            one = replace(
                plain,
                case=case,
                place=place,
                op=op,
                dtype=dtype,
                backend=backend,
                question=f"{op} at opset 13, axis=-1, input {dtype}[2, 3, {place}] normal 0, 1",
                clause=f"Sentence {place % 300} of the specification, which says what is right.",
                repeat=f"opcheck run --case '{case}' -b {backend} --no-known",
                seconds=place * 1e-6,
            )
            luck = chance.random()
            if luck < failing:
                one = _failing(one, chance)
            elif luck < failing + 0.1:
                one = replace(one, verdict=model.Verdict.KNOWN, known=KNOWN, reason="as known")
            records.append(one)
    return model.Run(about, tuple(records), model.Ending(True, 1, "does not conform", 12.5))


def _failing(one: model.Record, chance: random.Random) -> model.Record:
    worst = tuple(
        model.ElementRecord(
            (0, n, n),
            f"{chance.random():.7f}",
            "0.5",
            "0x3f000000",
            "0.25",
            "0x3e800000",
            chance.randint(1, 1 << 30),
            "exact",
        )
        for n in range(8)
    )
    comparison = model.ComparisonRecord(
        "output",
        "values",
        "80 of 360 elements wrong",
        dtype=one.dtype,
        wrong=80,
        total=360,
        max_ulp=1 << 30,
        used=float("inf"),
        where="output: scattered",
        worst=worst,
        picture=pictured(chance.randint(0, 300)),
    )
    return replace(
        one,
        verdict=model.Verdict.FAIL,
        failure="values",
        reason="output: 80 of 360 elements wrong",
        diagnoses=(chance.choice(_LOOKS),),
        comparisons=(comparison,),
    )
