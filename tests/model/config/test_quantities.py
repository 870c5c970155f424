"""Quantities: one parser for files, options and parameters; what each of them took before there was one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.model.config import quantities
from railweave.model.config.quantities import Quantity


@pytest.mark.parametrize(
    ("quantity", "text", "value"),
    [
        (quantities.GBPS, "1.6T", 1600),
        (quantities.GBPS, " 800 G ", 800),
        (quantities.METRES, "12.5", 12.5),
        (quantities.METRES, "12.5 m", 12.5),
        (quantities.METRES, "50cm", 0.5),
        (quantities.SECONDS, "30d", 2_592_000),
        (quantities.PICOSECONDS, "1.1us", 1_100_000),
        (quantities.MESSAGE_BYTES, "8g", 8 << 30),
        (quantities.MESSAGE_BYTES, "8 GiB", 8 << 30),
        (quantities.MESSAGE_BYTES, "8gb", 8 << 30),
        (quantities.MESSAGE_BYTES, "64B", 64),
        (quantities.MESSAGE_BYTES, "9007199254740993", 9_007_199_254_740_993),
        (quantities.BINARY_NUMBER, "-1", -1),
        (quantities.BINARY_NUMBER, "8m", 8 << 20),
        (quantities.ENGINE_BYTES, "8M", 8 << 20),
        (quantities.ENGINE_BYTES, "8MiB", 8 << 20),
        (quantities.ENGINE_BYTES, "8MB", 8_000_000),
        (quantities.ENGINE_TIME, ".5us", 500_000),
        (quantities.ENGINE_TIME, "5.us", 5_000_000),
        (quantities.ENGINE_TIME, "1S", 10**12),
    ],
)
def test_good(quantity: Quantity[Any], text: str, value: float) -> None:
    found = quantity.parse(text)
    assert found == value
    assert type(found) is quantity.kind


@pytest.mark.parametrize(
    ("quantity", "text", "says"),
    [
        (quantities.GBPS, "400g", "'400g' is not Gb/s: write a number and one of G, T, for example 400G"),
        (quantities.GBPS, "-400G", "'-400G' is not Gb/s: "),
        (quantities.GBPS, "", "'' is not Gb/s: "),
        (quantities.GBPS, ".", "'.' is not Gb/s: "),
        (quantities.GBPS, "9" * 400, "is not Gb/s: "),
        (
            quantities.PICOSECONDS,
            "5",
            "'5' is not a time: write a number and one of ps, ns, us, ms, s, for example 100us",
        ),
        (quantities.MESSAGE_BYTES, "8X", "'8X' is not a size: write a number and one of K, M, G, T, for example 1G"),
        (quantities.MESSAGE_BYTES, "0.3K", "'0.3K' is not a whole number of bytes"),
        (quantities.COUNT, "16K", "'16K' is not a count: write a number, for example 16"),
    ],
)
def test_bad(quantity: Quantity[Any], text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        quantity.parse(text)


@given(st.integers(0, 10**15))
def test_whole_numbers_are_exact(value: int) -> None:
    assert quantities.MESSAGE_BYTES.parse(f"{value}T") == value << 40
    assert quantities.PICOSECONDS.parse(f"{value}s") == value * 10**12
