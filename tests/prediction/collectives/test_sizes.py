"""Sizes as nccl-tests writes them."""

from __future__ import annotations

import pytest

from railweave.errors import InputError
from railweave.prediction.collectives.program import sizes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8G", [8 << 30]),
        ("1M,16M,1G", [1 << 20, 16 << 20, 1 << 30]),
        ("8..64", [8, 16, 32, 64]),
        ("1K..3K,5", [1024, 2048, 5]),
        ("4MiB", [4 << 20]),
    ],
)
def test_sizes(text: str, expected: list[int]) -> None:
    assert sizes(text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "'' is not a size"),
        ("8X", "'8X' is not a size"),
        ("0", "'0' is not a size"),
        ("-1", "'-1' is not a size"),
        ("9999T", "'9999T' is not a size"),
        ("16M..1M", "ends before it begins"),
        ("1M,,2M", "'' is not a size"),
    ],
)
def test_mistakes(text: str, error: str) -> None:
    with pytest.raises(InputError, match=error):
        sizes(text)
