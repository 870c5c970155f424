"""Names that are suggested in place of others."""

from __future__ import annotations

import pytest

from railweave.nearest import nearest


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("spine_count", ["interconnect", "spines"], None),
        ("faults.yaml", ["a5.yaml"], None),
        ("allreduce", ["all-reduce", "all-gather"], "all-reduce"),
        ("all_reduce", ["all-reduce", "all-gather"], "all-reduce"),
        ("gpu-1", ["gpu-10", "gpu-01"], "gpu-01"),
        ("spin1", ["leaf1", "spine1"], "spine1"),
        ("H100-1", ["H100-01", "H100-11"], "H100-01"),
    ],
)
def test_what_is_written_nearly_alike_is_meant(word: str, known: list[str], meant: str | None) -> None:
    assert nearest(word, known) == meant
