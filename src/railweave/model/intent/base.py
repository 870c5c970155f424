"""The base of every model in the fabric file, and the quantities its fields hold.

A quantity is parsed once, here, as ``model.config.quantities`` has it: ``400G`` becomes 400 (Gb/s), ``128us`` becomes 128
(microseconds). The field's type names the unit from then on. A bare number is taken in the unit of the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, WithJsonSchema

from railweave.model.config import quantities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import CoreSchema

    from railweave.model.config.quantities import Quantity


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


_STRICT = {"int": {"strict": True}, "bool": {"strict": True}, "float": {"strict": True, "allow_inf_nan": False}}
"""What pydantic is told of values of these types: a list may stand for a tuple, but ``true`` is not 1, nor ``yes`` true."""


def _make_strict(schema: Any) -> None:  # noqa: ANN401 - pydantic's own tree
    """Make the plain types of a schema strict, wherever they stand in it; schemas of other models have been."""
    below: list[Any] = [schema]
    while below:
        part = below.pop()
        if isinstance(part, dict):
            tree = cast("dict[str, Any]", part)
            tree.update(_STRICT.get(str(tree.get("type")), {}))
            below.extend(value for key, value in tree.items() if key not in {"metadata", "default"})
        elif isinstance(part, list | tuple):
            below.extend(cast("list[Any]", part))


class Model(BaseModel):
    """A part of the fabric file: immutable, and closed to keys it does not know.

    A number is written as one: no truth value, text or fraction stands for a whole number, and no text or infinity for another.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Pydantic's own, with every plain type in it strict."""
        schema = handler(source)
        _make_strict(schema)
        return schema


MOST = 10**17
"""Of any quantity, in its unit: 28 hours in picoseconds, a hundred petabytes."""


def _one_line(value: str) -> str:
    if "\n" in value or "\r" in value:
        raise WrongValueError(f"{value!r:.60} spans lines", "write it on one")
    return value


Line = Annotated[str, AfterValidator(_one_line)]
"""Free text on one line: it stands in one line of configuration."""


def _written(quantity: Quantity[Any]) -> BeforeValidator:
    """A validator that turns text such as ``400G`` into a number; a bare number is one where the quantity has no need of units."""

    def parse(value: Any) -> Any:  # noqa: ANN401 - pydantic hands over whatever the file holds
        if isinstance(value, bool):
            raise ValueError(f"expected {quantity.unit}, for example {quantity.example}")  # noqa: TRY004 - pydantic wants it
        if value is None or isinstance(value, list | dict):  # of another kind, which pydantic says
            return cast("object", value)
        if isinstance(value, int | float) and value < 0:
            raise WrongValueError(f"{value!r} is negative", f"write {quantity.unit}, for example {quantity.example}")
        whole = isinstance(value, int | float) and (value == 0 or "" in quantity.factors)
        number = value if whole else quantity.parse(value)
        if number > MOST:
            raise WrongValueError(
                f"{value!r:.40} is more than any", f"write {quantity.unit}, for example {quantity.example}"
            )
        return number

    return BeforeValidator(parse)


def _text_schema(example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "number"], "examples": [example]})


Gbps = Annotated[int, _written(quantities.GBPS), _text_schema("400G")]
"""Link speed, 10^9 bits per second."""

Metres = Annotated[float, _written(quantities.METRES), _text_schema("30m")]
"""Cable length in metres."""

Microseconds = Annotated[int, _written(quantities.MICROSECONDS), _text_schema("128us")]
"""A duration in microseconds."""

Milliseconds = Annotated[int, _written(quantities.MILLISECONDS), _text_schema("1000ms")]
"""A duration in milliseconds."""

Seconds = Annotated[int, _written(quantities.SECONDS), _text_schema("1800s")]
"""A duration in seconds."""

Picoseconds = Annotated[int, _written(quantities.PICOSECONDS), _text_schema("100us")]
"""A moment or a duration in picoseconds, which is how the engines count; a number needs its unit."""

Mbps = Annotated[int, _written(quantities.MBPS), _text_schema("100G")]
"""A rate, 10^6 bits per second; a number needs its unit."""


def _ratio(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value  # of another kind, which pydantic says
    if any(one.isdigit() for one in value) if isinstance(value, str) else value <= 0:
        return _parsed_ratio(value)
    return value


def _parsed_ratio(value: str | float) -> float:
    try:
        return quantities.ratio(value)
    except ValueError as error:
        raise WrongValueError(str(error), quantities.RATIO_FIX) from None


Ratio = Annotated[float, BeforeValidator(_ratio), _text_schema("3:1")]
"""Server bandwidth over uplink bandwidth: 3, or 3:1."""

MessageBytes = Annotated[int, _written(quantities.MESSAGE_BYTES), _text_schema("1G")]
"""The size of a collective as nccl-tests writes it: ``1G`` is 2^30 bytes."""

Share = Annotated[float, _written(quantities.SHARE), _text_schema("30%")]
"""A part of the whole, 0 to 1."""

Bytes = Annotated[int, _written(quantities.BYTES), _text_schema("9216")]
"""A packet or buffer size in bytes."""

Percent = Annotated[int, _written(quantities.PERCENT)]
"""A whole percentage, 0 to 100."""
