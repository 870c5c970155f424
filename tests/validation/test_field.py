"""Published results of other clusters: rows, closed form, and one prediction."""

from __future__ import annotations

import csv
from collections import Counter

import pytest
from benchmarks.validation import field


def test_every_row_has_servers_a_source_and_a_line_of_the_document() -> None:
    rows = field.rows()
    assert len(rows) == len({(row.group, row.servers, row.collective, row.size, row.source) for row in rows})
    assert all(row.published_us > 0 and row.source and row.bed for row in rows)
    with field.EVERY.open() as lines:
        written = Counter((line["set"], int(line["bytes"])) for line in csv.DictReader(lines) if line["bytes"])
    assert written == Counter((row.group, row.size) for row in rows)


@pytest.mark.parametrize(
    ("group", "servers", "collective", "gbytes_per_s"),
    [
        ("H100", 4, "all-reduce", 400 * 0.98 / (2 * 31 / 32)),
        ("H100, one server", 1, "all-reduce", 450 * 0.98 / (2 * 7 / 8)),
        ("MI355X", 2, "all-to-all", 50 * 0.98 * 2),
        ("GB300, two racks", 32, "all-reduce", 900 * 0.98 / (2 * 127 / 128)),
    ],
)
def test_the_closed_form_is_bytes_over_the_line_rate(
    group: str, servers: int, collective: field.Collective, gbytes_per_s: float
) -> None:
    row = field.Row(group, servers, collective, 8 << 30, 1.0, "", "")
    assert row.closed_form_us - field.LATENCY_US == pytest.approx((8 << 30) / gbytes_per_s / 1e3)


def test_a_ring_that_fills_nics_is_within_two_percent() -> None:
    (row,) = (row for row in field.rows() if row.group.endswith("Ring, 24 CTAs") and row.size == 512 << 20)
    assert abs(field.predicted(row).error) < 0.02
