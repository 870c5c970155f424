"""Runs as a store holds them: a mesh of pairs with something wrong, collectives over sizes with their predictions, training."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import combinations

from railweave.operations.bench.comparing.rows import QUANTITY
from railweave.operations.store.records import Prediction, Run, Sample

KEPT = "2026-03-01T12:00:00+00:00"


def run(
    tool: str,
    title: str,
    number: int = 0,
    *,
    settings: tuple[tuple[str, str], ...] = (),
    samples: tuple[Sample, ...] = (),
    predictions: tuple[Prediction, ...] = (),
    failures: tuple[str, ...] = (),
    hosts: tuple[str, ...] = (),
    ranks: int | None = None,
) -> Run:
    """A run; ``number`` tells it from others."""
    return Run(
        tool,
        title,
        f"/runs/{number}.txt",
        f"{number:064}",
        1,
        "",
        KEPT,
        hosts,
        ranks,
        settings,
        failures=failures,
        samples=samples,
        predictions=predictions,
    )


def pair(number: int, client: str, server: str, gbps: float | None, expected: float = 390.0, **told: str) -> Run:
    """A run of perftest between two NICs; None: it failed."""
    operation, size = "write bandwidth", 1 << 20
    settings = {"client": client, "server": server, "planned run": f"pairs/{number}", "part": "mesh"} | told
    return run(
        "perftest",
        operation,
        number,
        settings=tuple(settings.items()),
        failures=() if gbps is not None else ("status 12",),
        samples=() if gbps is None else (Sample(operation, size, "", QUANTITY, gbps),),
        predictions=(Prediction(operation, size, "", QUANTITY, expected, expected * 0.95, expected * 1.02, "packet"),)
        if expected
        else (),
    )


def mesh(
    bad: Sequence[str] = (),
    *,
    servers: int = 8,
    colors: int = 2,
    level: float = 0.5,
    noise: float = 0.02,
    expected: float = 390.0,
) -> list[Run]:
    """Pairs of one rail over two leaves for each four servers, a spine for each color; those that cross what is ``bad`` are slow."""
    chance = random.Random(7)  # noqa: S311 -- noise, no secret
    found: list[Run] = []
    for one, other in combinations(range(servers), 2):
        for color in range(colors):
            ends = [f"h{place:02}:gpu0_eth" for place in (one, other)]
            leaves = [f"leaf{place // 4}" for place in (one, other)]
            links = [f"{end}--{leaf}:p{end[1:3]}" for end, leaf in zip(ends, leaves, strict=True)]
            if leaves[0] != leaves[1]:
                links += [f"{leaf}:u{color}--spine{color}:{leaf}" for leaf in leaves]
            crossed = {*ends, *links, *leaves, f"color{color}", f"spine{color}" if leaves[0] != leaves[1] else ""}
            rate = 385.0 * (level if crossed & set(bad) else 1.0) * (1 + noise * chance.gauss(0, 1))
            found.append(
                pair(
                    len(found),
                    ends[0],
                    ends[1],
                    rate,
                    expected,
                    color=f"color{color}",
                    links=" ".join(links),
                    round=str(len(found)),
                )
            )
    return found


def collective(number: int, rates: Iterable[tuple[int, float]], operation: str = "all-reduce") -> Run:
    """A run of nccl-tests on 32 GPUs, with a prediction of 100 GB/s within 5 % at each size."""
    several = list(rates)
    return run(
        "nccl-tests",
        f"{operation} on 32 GPUs",
        number,
        hosts=("h00", "h01", "h02", "h03"),
        ranks=32,
        samples=tuple(
            Sample(operation, size, place, "busbw_gbytes_per_s", rate) for size, rate in several for place in PLACES
        ),
        predictions=tuple(
            Prediction(operation, size, place, "busbw_gbytes_per_s", 100.0, 95.0, 105.0, "flow engine")
            for size, _ in several
            for place in PLACES
        ),
    )


PLACES = ("out-of-place", "in-place")


def training(number: int, seconds: float, **told: str) -> Run:
    """A training run with its time, and settings of switches."""
    samples = (
        Sample("training", None, "", "time_to_train_s", seconds),
        Sample("training step", None, "", "step_time_s", 0.4),
    )
    return run("mllog", "training of bert", number, settings=tuple(told.items()), samples=samples)
