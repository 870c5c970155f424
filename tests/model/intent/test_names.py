"""Host lists, as cluster schedulers write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.model.intent.base import expand


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("gpu-01", ["gpu-01"]),
        ("H100-[01-03]", ["H100-01", "H100-02", "H100-03"]),
        ("H100-[01-02,07]", ["H100-01", "H100-02", "H100-07"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("r[1-2]-gpu", ["r1-gpu", "r2-gpu"]),
        ("[1-2]", ["1", "2"]),
        ("n[3,1]", ["n3", "n1"]),
        ("n[5-5]", ["n5"]),
    ],
)
def test_expand(pattern: str, names: list[str]) -> None:
    assert expand(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("n[1-2", "'n[1-2' is not a host list: write it as H100-[01-04,07]"),
        ("n1-2]", "'n1-2]' is not a host list: write it as H100-[01-04,07]"),
        ("n[]", "'n[]' is not a host list: write it as H100-[01-04,07]"),
        ("n[a-c]", "'n[a-c]' is not a host list: write it as H100-[01-04,07]"),
        ("n[1-2][3-4]", "'n[1-2][3-4]' is not a host list: write it as H100-[01-04,07]"),
        ("n[4-1]", "'4-1' in 'n[4-1]' is not a range: write low-high, for example 01-04"),
        ("n[1,]", "'' in 'n[1,]' is not a range: write low-high, for example 01-04"),
        ("n[-4]", "'-4' in 'n[-4]' is not a range: write low-high, for example 01-04"),
    ],
)
def test_malformed(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match="write") as caught:
        expand(pattern)
    assert str(caught.value) == message


@given(st.integers(0, 5000), st.integers(0, 60), st.integers(1, 6))
def test_a_range_is_every_number_of_it_in_order(first: int, more: int, width: int) -> None:
    names = expand(f"n[{first:0{width}d}-{first + more:0{width}d}]-x")
    assert names == [f"n{number:0{width}d}-x" for number in range(first, first + more + 1)]
