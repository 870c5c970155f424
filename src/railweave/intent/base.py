"""The base of every model in the fabric file, and the units its fields are written in.

A unit is parsed once, here: ``400G`` becomes 400 (Gb/s), ``128us`` becomes 128 (microseconds). The field's type names
the unit from then on. A bare number is taken in the unit of the type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

if TYPE_CHECKING:
    from collections.abc import Sequence


class WrongValueError(ValueError):
    """What a validator finds wrong with a value: what is wrong, and ``fix``, what would be right.

    ``parts`` are places inside the value, the likeliest first, where the mistake shows in one of them: the first that
    stands in the file is pointed at, for the others may be defaults. ``earlier`` is the place that this one repeats.
    """

    def __init__(
        self,
        what: str,
        fix: str = "",
        *parts: Sequence[str | int],
        earlier: Sequence[str | int] | None = None,
    ) -> None:
        super().__init__(what, fix, *parts)
        self.what = what
        self.fix = fix
        self.parts = parts
        self.earlier = earlier

    def __str__(self) -> str:
        return f"{self.what} -- {self.fix}" if self.fix else self.what


class Model(BaseModel):
    """A part of the fabric file: immutable, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*|%)\s*")


def _quantity(unit: str, factors: dict[str, float], example: str, *, whole: bool = True) -> BeforeValidator:
    """A validator that turns text such as ``400G`` into a number of ``unit``."""

    def parse(value: Any) -> Any:  # noqa: ANN401 - pydantic hands over whatever the file holds
        if isinstance(value, bool):
            raise ValueError(f"expected {unit}, for example {example}")  # noqa: TRY004 - pydantic wants it
        if value is None or isinstance(value, list | dict):  # of another kind, which pydantic says
            return cast("object", value)
        if isinstance(value, int | float) and value < 0:
            raise WrongValueError(f"{value!r} is negative", f"write {unit}, for example {example}")
        if isinstance(value, int | float) and (value == 0 or "" in factors):
            return value
        match = _QUANTITY.fullmatch(str(value))
        factor = factors.get(match[2]) if match else None
        if match is None or factor is None:
            known = ", ".join(name for name in factors if name)
            units = f" and one of {known}" if known else ""
            raise ValueError(f"{value!r} is not {unit}: write a number{units}, for example {example}")
        number = float(match[1]) * factor
        if whole and abs(number - round(number)) > 1e-6:  # 1.1 x 10^6 is not quite whole in binary
            raise ValueError(f"{value!r} is not a whole number of {unit}")
        return round(number) if whole else number

    return BeforeValidator(parse)


def _text_schema(example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "number"], "examples": [example]})


Gbps = Annotated[int, _quantity("Gb/s", {"": 1, "G": 1, "T": 1000}, "400G"), _text_schema("400G")]
"""Link speed, 10^9 bits per second."""

Metres = Annotated[
    float, _quantity("metres", {"": 1, "m": 1, "km": 1000, "cm": 0.01}, "30m", whole=False), _text_schema("30m")
]
"""Cable length in metres."""

Microseconds = Annotated[int, _quantity("microseconds", {"": 1, "us": 1, "ms": 1000}, "128us"), _text_schema("128us")]
"""A duration in microseconds."""

Milliseconds = Annotated[int, _quantity("milliseconds", {"": 1, "ms": 1, "s": 1000}, "1000ms"), _text_schema("1000ms")]
"""A duration in milliseconds."""

Seconds = Annotated[
    int, _quantity("seconds", {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}, "30d"), _text_schema("1800s")
]
"""A duration in seconds."""

Picoseconds = Annotated[
    int,
    _quantity("a time", {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}, "100us"),
    _text_schema("100us"),
]
"""A moment or a duration in picoseconds, which is how the engines count; a number needs its unit."""

Mbps = Annotated[int, _quantity("a rate", {"M": 1, "G": 10**3, "T": 10**6}, "100G"), _text_schema("100G")]
"""A rate, 10^6 bits per second; a number needs its unit."""

MessageBytes = Annotated[
    int,
    _quantity("a size", {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}, "1G"),
    _text_schema("1G"),
]
"""The size of a collective as nccl-tests writes it: ``1G`` is 2^30 bytes."""

Share = Annotated[float, _quantity("a share", {"": 1, "%": 0.01}, "30%", whole=False), _text_schema("30%")]
"""A part of the whole, 0 to 1."""

Bytes = Annotated[int, _quantity("bytes", {"": 1, "B": 1}, "9216"), _text_schema("9216")]
"""A packet or buffer size in bytes."""

Percent = Annotated[int, _quantity("percent", {"": 1}, "55")]
"""A whole percentage, 0 to 100."""
