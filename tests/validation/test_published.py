"""A few published rows, with the tolerances stated for their kinds; docs/validation.csv has all of them."""

from __future__ import annotations

import csv

import pytest
from benchmarks.validation import long_haul
from benchmarks.validation.published import (
    COLUMNS,
    DOCUMENT,
    RCCL,
    ROWS,
    SPLIT,
    Collective,
    Job,
    Perftest,
    Row,
    run,
    table,
)

MIB = 1 << 20

CASES: list[tuple[str, tuple[float, ...], Job, float]] = [
    ("t12-4u-4q-ar", (386.753,), Collective("lab", (4,), "all-reduce", 1 << 30, 4, SPLIT), 0.03),
    ("t12-4u-8q-a2a", (28.13,), Collective("lab", (4,), "all-to-all", 64 * MIB, 8, SPLIT), 0.15),
    ("pt-2048", (132.91, 133.1), Perftest(2048), 0.05),
    ("pt-8388608", (774.9732, 775.17), Perftest(8 * MIB), 0.05),
    ("r1ar-8388608-out", (104.5,), Collective("thor2", (1,), "all-reduce", 8 * MIB, processes=1), 0.15),
    ("r1ar-536870912-in", (2957.8,), Collective("thor2", (1,), "all-reduce", 512 * MIB, processes=1), 0.15),
    ("r1ar-65536-in", (35.82,), Collective("thor2", (1,), "all-reduce", 64 << 10, processes=1), 0.10),
    ("r4a2a32p-1024-in", (102.4,), Collective("thor2", (4,), "all-to-all", 1024, nccl=RCCL, processes=8), 0.10),
    ("r4ar4p-8388608-in", (260.92,), Collective("thor2", (4,), "all-reduce", 8 * MIB, nccl=RCCL, processes=1), 0.15),
    (
        "r4ar4p-134217728-in",
        (1390.62,),
        Collective("thor2", (4,), "all-reduce", 128 * MIB, nccl=RCCL, processes=1),
        0.15,
    ),
    ("r4a2a4p-4194304-out", (241.2,), Collective("thor2", (4,), "all-to-all", 4 * MIB, nccl=RCCL, processes=1), 0.15),
]


@pytest.mark.parametrize(("row_id", "published", "job", "within"), CASES, ids=[case[0] for case in CASES])
def test_published_row(row_id: str, published: tuple[float, ...], job: Job, within: float) -> None:
    error = Row(row_id, "", published, "", job, within).error(run(job))
    assert abs(error) <= within


def test_one_queue_pair_over_50_km() -> None:
    """About 32 Gb/s, in the article's text: 512 packets of 4096 B outstanding."""
    assert long_haul.queue_pair_gbps(20_000_000) == pytest.approx(32, rel=0.10)
    assert long_haul.packet_bytes() == 4194


def test_an_error_is_counted_from_the_nearer_end_of_an_interval() -> None:
    row = Row("", "", (100.0, 110.0), "Gb/s", None)
    assert [row.error(90), row.error(105), row.error(121)] == [pytest.approx(-0.1), 0, pytest.approx(0.1)]


def test_the_page_has_the_rows_of_the_table_that_miss_their_target() -> None:
    with ROWS.open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == [column.name for column in COLUMNS]
    assert len(rows) > 90
    assert "\n".join(table([tuple(row) for row in rows])) in DOCUMENT.read_text(encoding="utf-8")
