"""The base class of every model in the fabric file, and its field types: quantities, names and references to secrets.

Each quantity is converted once, in this module, by the rules of ``model.config.quantities``. ``400G`` becomes 400
(Gb/s), and ``128us`` becomes 128 (microseconds). After that, the field's type names the unit. A bare number has the
unit of the type.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, WithJsonSchema

from railweave.model.config import quantities
from railweave.model.config.naming import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import CoreSchema

    from railweave.model.config.quantities import Quantity


class WrongValueError(ValueError):
    """An invalid value that a validator found. ``what`` is the fault, and ``fix`` is the correction.

    - ``parts``: places inside the value that may hold the mistake, the likeliest first. The error points at the first
      that is present in the file, because absent parts have their defaults.
    - ``earlier``: the place of the same value earlier in the file, if the value is repeated.
    """

    def __init__(
        self,
        message: str,
        fix: str = "",
        *parts: Sequence[str | int],
        earlier: Sequence[str | int] | None = None,
    ) -> None:
        super().__init__(message, fix, *parts)
        self.what = message
        self.fix = fix
        self.parts = parts
        self.earlier = earlier

    def __str__(self) -> str:
        return f"{self.what} -- {self.fix}" if self.fix else self.what


_STRICT = {"int": {"strict": True}, "bool": {"strict": True}, "float": {"strict": True, "allow_inf_nan": False}}
"""The pydantic options that make a type strict: ``true`` is not accepted as 1, nor ``yes`` as true.

The options are set per type, because strict options for a whole model would also reject a list in place of a tuple.
"""


def _make_strict(schema: Any) -> None:  # noqa: ANN401 - pydantic's own tree
    """Make the plain types of a pydantic schema strict, at every depth. The schemas of nested models are already strict."""
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
    """A part of the fabric file. Instances are immutable, and unknown keys are rejected.

    An integer field accepts no truth value, text or fraction. A float field accepts no text and no infinity.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Return ``handler(source)``, pydantic's schema, with plain types strict."""
        schema = handler(source)
        _make_strict(schema)
        return schema


MOST = 10**17
"""The largest accepted number in any quantity's own unit: about 28 hours in picoseconds, or 100 petabytes."""


def _one_line(value: str) -> str:
    if "\n" in value or "\r" in value:
        raise WrongValueError(f"{value!r:.60} spans lines", "write it on one line")
    return value


Line = Annotated[str, AfterValidator(_one_line)]
"""Free text on one line, because it becomes one line of configuration."""


def _written(quantity: Quantity[Any]) -> BeforeValidator:
    """Return a validator that converts text such as ``400G`` into a number.

    A bare number is accepted if the quantity does not require a unit.
    """

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
                f"{value!r:.40} is larger than every allowed value",
                f"write {quantity.unit}, for example {quantity.example}",
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
"""A point in time or a duration in picoseconds, the unit of the engines. A number needs a unit."""

Mbps = Annotated[int, _written(quantities.MBPS), _text_schema("100G")]
"""A rate in Mb/s (10^6 bits per second). A number needs a unit."""


def _ratio(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value  # of another kind, which pydantic says
    if any(character.isdigit() for character in value) if isinstance(value, str) else value <= 0:
        return _parsed_ratio(value)
    return value


def _parsed_ratio(value: str | float) -> float:
    try:
        return quantities.ratio(value)
    except ValueError as error:
        raise WrongValueError(str(error), quantities.RATIO_FIX) from None


Ratio = Annotated[float, BeforeValidator(_ratio), _text_schema("3:1")]
"""The ratio of server bandwidth to uplink bandwidth, written ``3`` or ``3:1``."""

MessageBytes = Annotated[int, _written(quantities.MESSAGE_BYTES), _text_schema("1G")]
"""The size of a collective, in bytes, in the notation of nccl-tests: ``1G`` is 2^30 bytes."""

Share = Annotated[float, _written(quantities.SHARE), _text_schema("30%")]
"""A fraction of the whole, from 0 to 1."""

Bytes = Annotated[int, _written(quantities.BYTES), _text_schema("9216")]
"""A packet or buffer size in bytes."""

Percent = Annotated[int, _written(quantities.PERCENT)]
"""A whole percentage, 0 to 100."""


NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"

LONGEST = 63
"""The greatest length of a name and of each part between dots (RFC 1123, section 2.1: host name labels)."""
MOST_NAMES = 65_536
"""The largest number of names that a host list may give. It is sixteen times the servers of the largest tested fabric."""

_RANGE = re.compile(r"^(?P<head>[^\[\]]*)\[(?P<body>[0-9,\-]+)\](?P<tail>[^\[\]]*)$")
_BOUNDS = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def check_name(name: str) -> str:
    """Return the name unchanged. Raise ``ValueError`` if it is not valid as the name of a host and of a file."""
    if re.fullmatch(NAME, name) is None:
        shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
        raise WrongValueError(
            f"{shown!r} is not a name",
            f"use letters, digits, dots, dashes and underscores, at most {LONGEST}; begin with a letter or digit",
        )
    return name


Name = Annotated[str, AfterValidator(check_name), WithJsonSchema({"type": "string", "pattern": NAME})]
"""A name that the user chooses."""


def expand(pattern: str) -> list[str]:
    """Return the names that a pattern describes, in order. A name without a range gives a list of only that name.

    ``H100-[01-03]`` gives ``H100-01, H100-02, H100-03``, with numbers as wide as the first. Raises ``ValueError`` if a range is
    malformed or backward, if names are too long, or if there are more than ``MOST_NAMES`` names.
    """
    head, ranges, tail = _parts(pattern)
    _check_count(pattern, ranges)
    return [
        f"{head}{number:0{len(first)}d}{tail}" if first else head
        for first, last in ranges
        for number in range(int(first or 0), int(last or 0) + 1)
    ]


_ENDS_IN_NUMBER = re.compile(r"(.*?)(\d+)")


def host_lists(names: Sequence[str]) -> list[str]:
    """Return names as host lists, such as ``H100-[01-04]``, in the given order."""
    return [_host_list(*run) for run in _runs(names)]


def _runs(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield runs of consecutively numbered names as (text before the number, first number, last number)."""
    run: tuple[str, str, str] | None = None
    for name in names:
        match = _ENDS_IN_NUMBER.fullmatch(name)
        if match is None:
            if run:
                yield run
            yield name, "", ""
            run = None
            continue
        head, number = match[1], match[2]
        if run and run[0] == head and int(number) == int(run[2]) + 1 and f"{int(number):0{len(run[1])}d}" == number:
            run = (head, run[1], number)
        else:
            if run:
                yield run
            run = (head, number, number)
    if run:
        yield run


def _host_list(head: str, first: str, last: str) -> str:
    return f"{head}{first}" if first == last else f"{head}[{first}-{last}]"


def count_of(pattern: str) -> int:
    """Return the number of names that a pattern describes, without creating them. Raises ``ValueError`` like ``expand``."""
    _, ranges, _ = _parts(pattern)
    return _check_count(pattern, ranges)


def _parts(pattern: str) -> tuple[str, list[tuple[str, str]], str]:
    """Split a pattern into the text before its numbers, its ranges, and the text after them.

    Each range is a pair of first and last number as text. A pattern without a range gives one pair of empty strings.
    """
    if "[" not in pattern and "]" not in pattern:
        return pattern, [("", "")], ""
    match = _RANGE.match(pattern)
    if match is None:
        raise ValueError(f"{_short(pattern)} is not a host list: write it as H100-[01-04,07]")
    ranges: list[tuple[str, str]] = []
    for part in match["body"].split(","):
        bounds = _BOUNDS.fullmatch(part)
        first, last = (bounds[1], bounds[2] or bounds[1]) if bounds else ("1", "0")
        if len(match["head"]) + len(match["tail"]) + max(len(first), len(last)) > LONGEST:
            raise WrongValueError(f"{_short(pattern)} gives names that are too long", f"at most {LONGEST} letters")
        if int(first) > int(last):
            raise ValueError(f"{_short(part)} in {_short(pattern)} is not a range: write low-high, for example 01-04")
        ranges.append((first, last))
    return match["head"], ranges, match["tail"]


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def _check_count(pattern: str, ranges: list[tuple[str, str]]) -> int:
    count = sum(int(last or 0) - int(first or 0) + 1 for first, last in ranges)
    check_most(_short(pattern), count)
    return count


def check_most(subject: str, count: int) -> None:
    """Raise ``ValueError`` if ``count`` is more than ``MOST_NAMES``. The message names the list as ``subject``."""
    if count > MOST_NAMES:
        raise WrongValueError(f"{subject} stands for {count:,} names", f"at most {MOST_NAMES:,} names are allowed")


def expand_all(value: object, repeated: str, fix: str) -> list[str]:
    """Return the names that a host list, or a list of host lists, describes.

    Raises ``ValueError`` for an invalid or a repeated name. ``repeated`` is the message for a repeated name, in which ``{}`` stands
    for the name, and ``fix`` is the suggested correction.
    """
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    names: list[str] = []
    for item in items:
        if not isinstance(item, str):
            raise WrongValueError(f"{item!r:.60} is not text", "write names as text, and put numbers in quotes")
        check_most("the list", len(names) + count_of(item))
        names += map(check_name, expand(item))
    twice = repeated_name(names)
    if twice is not None:
        raise WrongValueError(repeated.format(repr(twice)), fix)
    return names


def repeated_name(names: Sequence[str]) -> str | None:
    """Return the first name that is repeated, ignoring case, or None."""
    counts = Counter(name.casefold() for name in names)
    return next((name for name in names if counts[name.casefold()] > 1), None)


def naming_pattern(**fields: str | int) -> AfterValidator:
    """Return a validator of a naming pattern such as ``{stripe}-leaf{leaf}``.

    ``fields`` are the fields that the pattern may use, each with an example value.
    """
    known = ", ".join(f"{{{field}}}" for field in fields)

    def check(pattern: str) -> str:
        used: list[str] = []
        try:
            used = [field for _, field, _, _ in string.Formatter().parse(pattern) if field is not None]
            example = named(pattern, **fields)
        except KeyError as error:
            unknown = next((field for field in used if error.args[0] in field), error.args[0])
            raise WrongValueError(f"'{{{unknown}}}' is not a field of this name", f"fields are {known}") from None
        except ValueError as error:
            raise WrongValueError(f"{pattern!r} is not a naming pattern ({error})", f"fields are {known}") from None
        check_name(example)
        return pattern

    return AfterValidator(check)


_SECRET_NAME = re.compile(r"secret:[A-Za-z0-9_./:@-]{1,128}")
SECRET = "secret:"  # noqa: S105 - the marker of a reference, not a secret


def secret_reference(value: str | None) -> str | None:
    """Return the value if it is None or a secret reference (``secret:NAME``). Raise ``ValueError`` for anything else."""
    if value is not None and not value.startswith(SECRET):
        raise WrongValueError(
            "this must be the name of a secret, not the secret itself",
            "write secret:NAME instead, and pass --secrets FILE to build",
        )
    if value == SECRET:
        raise WrongValueError("the secret has no name", "write it as secret:NAME")
    if value is not None and _SECRET_NAME.fullmatch(value) is None:
        raise WrongValueError(
            f"{value!r:.60} names no secret", "use letters, digits, dots, dashes, slashes, underscores"
        )
    return value
