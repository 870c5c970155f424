"""Units are parsed once, at the edge; what is not one is refused with an example."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from railweave.model.intent import base
from railweave.model.intent.addresses import NumberRange, Prefix


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (base.Gbps, "400G", 400),
        (base.Gbps, "1.6T", 1600),
        (base.Gbps, "0.4T", 400),
        (base.Gbps, 100, 100),
        (base.Gbps, " 800 G ", 800),
        (base.Metres, "30m", 30.0),
        (base.Metres, "2.5", 2.5),
        (base.Metres, "2km", 2000.0),
        (base.Metres, "50cm", 0.5),
        (base.Microseconds, "128us", 128),
        (base.Microseconds, "2ms", 2000),
        (base.Milliseconds, "1000ms", 1000),
        (base.Milliseconds, "1s", 1000),
        (base.Milliseconds, "0.3s", 300),
        (base.Seconds, "30d", 2_592_000),
        (base.Seconds, "1800s", 1800),
        (base.Seconds, "1h", 3600),
        (base.Seconds, "2m", 120),
        (base.Bytes, "9216B", 9216),
        (base.Bytes, 9216, 9216),
        (base.Percent, "55", 55),
        (NumberRange, "2-4094", (2, 4094)),
        (NumberRange, "7 - 7", (7, 7)),
        (Prefix, "FC00:0::/16", "fc00::/16"),
        (Prefix, "10.0.0.0/8", "10.0.0.0/8"),
    ],
)
def test_good(kind: object, text: object, value: object) -> None:
    found = TypeAdapter(kind).validate_python(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (base.Gbps, "400Gbps", "'400Gbps' is not Gb/s: write a number and one of G, T, for example 400G"),
        (base.Gbps, "400g", "'400g' is not Gb/s: write a number and one of G, T, for example 400G"),
        (base.Gbps, "-400G", "'-400G' is not Gb/s: write a number and one of G, T, for example 400G"),
        (base.Gbps, "", "'' is not Gb/s: write a number and one of G, T, for example 400G"),
        (base.Gbps, "2.5G", "'2.5G' is not a whole number of Gb/s"),
        (base.Gbps, True, "expected Gb/s, for example 400G"),
        (base.Metres, "3ft", "'3ft' is not metres: write a number and one of m, km, cm, for example 30m"),
        (base.Microseconds, "1s", "'1s' is not microseconds: write a number and one of us, ms, for example 128us"),
        (base.Microseconds, "0.5us", "'0.5us' is not a whole number of microseconds"),
        (base.Seconds, "1w", "'1w' is not seconds: write a number and one of s, m, h, d, for example 30d"),
        (NumberRange, "4094-2", "'4094-2' is not a range -- write it as 2-4094"),
        (NumberRange, "2", "'2' is not a range -- write it as 2-4094"),
        (NumberRange, "a-b", "'a-b' is not a range -- write it as 2-4094"),
        (NumberRange, "-5", "'-5' is not a range -- write it as 2-4094"),
    ],
)
def test_bad(kind: object, text: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(text)
    assert caught.value.errors()[0]["msg"] == f"Value error, {message}"


@pytest.mark.parametrize("text", ["10.0.0.1/8", "fc00::/129", "rack 1", "10.0.0.0/33"])
def test_bad_prefix(text: str) -> None:
    with pytest.raises(ValidationError, match=r"is not a prefix .* -- write it as fc00::/16 or 10\.0\.0\.0/8"):
        TypeAdapter(Prefix).validate_python(text)


@given(st.integers(0, 10**6))
def test_the_same_amount_in_any_unit(value: int) -> None:
    seconds = TypeAdapter(base.Seconds)
    assert seconds.validate_python(f"{value}m") == seconds.validate_python(60 * value)
    assert TypeAdapter(base.Milliseconds).validate_python(f"{value}s") == 1000 * value
    assert TypeAdapter(base.Gbps).validate_python(f"{value}T") == 1000 * value
