"""The knobs of a study: fields of the fabric file or parameters of the simulator, each with its possible values."""

from __future__ import annotations

import difflib
import re
import types
import typing
from dataclasses import dataclass
from math import isclose, prod
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from railweave.errors import Problem, SpecError
from railweave.model.config.quantities import ENGINE_BYTES, ENGINE_TIME
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.study import MOST_VALUES, Range, StudyFile, Values
from railweave.operations.tune.patch import at_path, with_values

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from railweave.model.intent.reading.document import Document
    from railweave.model.intent.scenario import Setting

_RANGE = re.compile(r"\s*(-?\d+)\s*([A-Za-z%]*)\s*\.\.\s*(-?\d+)\s*([A-Za-z%]*)(?:\s+step\s+(\d+)\s*([A-Za-z%]*))?\s*")

KNOWN_AS = {
    "hosts.nccl.qps": "hosts.job.qps_per_connection",
    "hosts.job.qps": "hosts.job.qps_per_connection",
    "load_balancing.dlb.mode": "load_balancing.mode",
    "load_balancing.dlb.interval": "load_balancing.dlb.inactivity_interval",
}
"""Common names for fields, each with the field's name in the fabric file."""


@dataclass(frozen=True)
class Knob:
    """A knob of a study: a field of the fabric file, or a parameter of the simulator, whose value is varied.

    - ``path``: the path in the fabric file; empty if the parameter exists only in the simulator.
    - ``values``: all possible values, in order.
    - ``ordered``: True if the order of values is meaningful, so that each value is between its neighbors.
    """

    name: str
    path: tuple[str, ...]
    values: tuple[Setting, ...]
    ordered: bool

    def place(self, value: object) -> int | None:
        """Return the index of ``value`` among the knob's values, or None if ``value`` is not one of them.

        A number without a unit equals the same number with any unit: 128 is 128us.
        """
        wanted = _quantity(value)
        for number, candidate in enumerate(self.values):
            if candidate == value or (wanted is not None and _same(_quantity(candidate), wanted)):
                return number
        return None


Chosen = tuple[int, ...]
"""A combination of values: for each knob (a field to vary), the index of its value."""


@dataclass(frozen=True)
class Space:
    """All knobs (fields to vary) of a study.

    ``own_values`` has the value of each knob in the fabric file, including defaults; None if it is unknown.
    """

    knobs: tuple[Knob, ...]
    own_values: tuple[Setting | None, ...]

    @property
    def size(self) -> int:
        """The number of combinations of the knobs' values."""
        return prod(len(knob.values) for knob in self.knobs)

    def values(self, chosen: Chosen) -> dict[str, Setting]:
        """Return the values of the combination ``chosen``, by knob name."""
        return {knob.name: knob.values[number] for knob, number in zip(self.knobs, chosen, strict=True)}

    def in_file(self, values: Mapping[str, Setting]) -> dict[tuple[str, ...], Setting]:
        """Return, by path, the values that belong in a fabric file."""
        return {knob.path: values[knob.name] for knob in self.knobs if knob.path and knob.name in values}

    def in_engine(self, values: Mapping[str, Setting]) -> dict[str, Setting]:
        """Return, by name, the values of parameters that exist only in the simulator."""
        return {knob.name: values[knob.name] for knob in self.knobs if not knob.path and knob.name in values}

    @property
    def own_choice(self) -> Chosen | None:
        """The file's own values as a combination; None if a value is not among those that the study tries for its knob (its field)."""
        places = [knob.place(value) for knob, value in zip(self.knobs, self.own_values, strict=True)]
        return None if None in places else tuple(cast("list[int]", places))


def space_of(study: StudyFile, fabric: Document, spec: FabricFile) -> Space:
    """Return the knobs (fields to vary) of a study on a fabric file.

    Raises ``SpecError`` with every problem, each at its line of the study file.
    """
    problems: list[Problem] = []
    knobs: list[Knob] = []
    own_values: list[Setting | None] = []
    for part, given in (("space", study.study.space), ("engine", study.study.engine)):
        for name, values in given.items():
            here = (part, name)
            try:
                knob = Knob(name, tuple(name.split(".")) if part == "space" else (), *_values(values))
                if part == "space":
                    own_values.append(_own(knob, fabric, spec, every=not isinstance(values, Range | str)))
                else:
                    _known_to_engine(name, knob)
                    own_values.append(None)
            except _WrongError as error:
                problems.append(study.document.problem(here, error.what, error.fix))
                continue
            knobs.append(knob)
    if problems:
        raise SpecError(problems)
    return Space(tuple(knobs), tuple(own_values))


class _WrongError(ValueError):
    """An error in a study file's declaration of a knob (a field to vary), with its fix."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message, fix)
        self.what = message
        self.fix = fix


def _values(given: Values) -> tuple[tuple[Setting, ...], bool]:
    """Return (all values of a knob, True if their order is meaningful). A knob is a field that the study varies.

    ``given`` is a range such as ``20..80 step 5``, or a list. A list's order is meaningful if it has ascending numbers of one unit.
    """
    if isinstance(given, Range):
        return _spread(given.first, given.last, given.step, ""), True
    if isinstance(given, str):
        match = _RANGE.fullmatch(given)
        if match is None:
            raise _WrongError(
                f"{given!r} is not a range", "write 20..80, 20..80 step 5, 64us..512us step 64us, or a list"
            )
        units = {unit for unit in match.group(2, 4, 6) if unit}
        if len(units) > 1:
            raise _WrongError(f"{given!r} has several units", "write all in one unit, as 64us..512us step 64us")
        first, last, step = int(match[1]), int(match[3]), int(match[5] or 1)
        if first >= last or step < 1:
            raise _WrongError(
                f"{given!r} has no values between its ends", "write the smaller first, and a step of 1 or more"
            )
        return _spread(first, last, step, next(iter(units), "")), True
    if len(given) < 2:
        raise _WrongError("a knob needs two values or more, each once", "write [1, 2, 4, 8], or leave the knob out")
    _each_once((_meaning(value), value) for value in given)
    quantities = [quantity for value in given if (quantity := _quantity(value)) is not None]
    based = [_base(*quantity) for quantity in quantities]
    numbers = [number for number, _ in based]
    ordered = len(based) == len(given) and len({unit for _, unit in based}) == 1 and numbers == sorted(numbers)
    return tuple(given), ordered


def _spread(first: int, last: int, step: int, unit: str) -> tuple[Setting, ...]:
    numbers = range(first, last + 1, step)
    if len(numbers) > MOST_VALUES:
        raise _WrongError(f"there are {len(numbers):,} values", f"at most {MOST_VALUES:,}: give a larger step")
    return tuple(f"{number}{unit}" if unit else number for number in numbers)


_UNITS = {
    unit: (kind.unit, factor)
    for kind in (ENGINE_TIME, ENGINE_BYTES)
    for unit, factor in kind.factors.items()
    if kind is ENGINE_TIME or unit.endswith("B")
}
"""The units with one meaning: (base unit, factor). ``M`` alone may be a rate or a size, and ``m`` metres or minutes."""
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z]{1,3}|%)?")


def _quantity(value: object) -> tuple[float, str] | None:
    """Return (number, unit) of a value as written. The unit is empty if the value has none. Return None if it is not a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return (float(match[1]), match[2] or "") if match else None


def _base(number: float, unit: str) -> tuple[float, str]:
    """Return a quantity in its base unit: times in picoseconds, sizes with a B in bytes, other quantities unchanged."""
    base, factor = _UNITS.get(unit, (unit, 1))
    return number * factor, base


def _meaning(value: Setting) -> Hashable:
    """Return an object that is equal for values with the same meaning: 100ns and 0.1us, 5 and "5". True is not 1."""
    quantity = _quantity(value)
    if quantity is None:
        return isinstance(value, bool), value
    number, unit = _base(*quantity)
    return f"{number:.12g}", unit


def _each_once(values: Iterable[tuple[Hashable, Setting]]) -> None:
    """Raise ``_WrongError`` if two values have the same meaning. ``values`` are given as (meaning, value)."""
    seen: dict[Hashable, Setting] = {}
    for meaning, value in values:
        if meaning in seen:
            same = f"{seen[meaning]!r} and {value!r} are the same"
            raise _WrongError(f"a knob needs two values or more, each once: {same}", "leave one of them out")
        seen[meaning] = value


def _same(first: tuple[float, str] | None, second: tuple[float, str]) -> bool:
    """Return True if ``first`` and ``second``, each (number, unit), are equal. If ``first`` is None, return False.

    A number without a unit equals the same number with any unit.
    """
    if first is None:
        return False
    if not (first[1] and second[1]):
        return first[0] == second[0]
    (one_number, one_unit), (other_number, other_unit) = _base(*first), _base(*second)
    return one_unit == other_unit and isclose(one_number, other_number, rel_tol=1e-9)


def _own(knob: Knob, fabric: Document, spec: FabricFile, *, every: bool) -> Setting | None:
    """Return the present value of a knob (a field to vary) in the fabric file. With ``every``, each value is tried, otherwise some.

    Raises ``_WrongError`` if the path is invalid, if one of the knob's values is not allowed for the field, or if the field reads
    two of them as the same value.
    """
    present = _walked(knob, spec)
    some = (knob.values[0], knob.values[-1], *knob.values[1:-1][:: max(1, len(knob.values) // 8)])
    meanings: list[tuple[Hashable, Setting]] = []
    for value in knob.values if every else some:
        try:
            changed = FabricFile.model_validate(with_values(fabric.value, {knob.path: value}))
            meanings.append((repr(_walked(knob, changed)), value))
        except ValidationError as error:
            for detail in error.errors():
                place = tuple(str(part) for part in detail["loc"] if not str(part).startswith(("function-", "tagged-")))
                if place[: len(knob.path)] == knob.path:
                    raise _WrongError(
                        f"{value} is not allowed there: {detail['msg']}", "docs/fabric-file.md has its limits"
                    ) from None
    if every:
        _each_once(meanings)
    written = at_path(fabric.value, knob.path)
    if isinstance(written, str | int | float | bool):
        return written
    return present if isinstance(present, str | int | float | bool) else None


def _walked(knob: Knob, spec: FabricFile) -> object:
    """Return the value at a knob's path in the parsed file, defaults included, or None if a field along the path is empty.

    Raises ``_WrongError`` if the path does not lead to a value.
    """
    kind: Any = FabricFile
    at: Any = spec
    for depth, key in enumerate(knob.path):
        around = ".".join(knob.path[:depth]) or "the fabric file"
        model = _model(kind)
        if model is not None:
            fields = {info.alias or name: name for name, info in model.model_fields.items()}
            if key not in fields:
                raise _WrongError(f"{around} has no field {key!r}", _instead(knob.name, key, fields))
            kind = model.model_fields[fields[key]].annotation
            at = getattr(at, fields[key], None)
            continue
        inner = _mapped(kind)
        if inner is None:
            raise _WrongError(
                f"{around} has no fields: {key!r} leads nowhere", "paths go through maps, not through lists"
            )
        known = sorted(cast("dict[str, Any]", at)) if isinstance(at, dict) else []
        if _model(inner) is not None and key not in known:
            raise _WrongError(f"{around} has no {key!r}", f"it has {', '.join(known) or 'none'}")
        kind = inner
        at = cast("dict[str, Any]", at).get(key) if isinstance(at, dict) else None
    if _model(kind) is not None or _mapped(kind) is not None:
        raise _WrongError(f"{knob.name} has fields of its own", "name one of them: the path ends at a value")
    return at


def _instead(name: str, key: str, fields: Mapping[str, str]) -> str:
    for alias, meant in KNOWN_AS.items():
        if alias in name:
            return f"write {name.replace(alias, meant)}"
    near = difflib.get_close_matches(key, fields, 1)
    return f"did you mean {near[0]!r}?" if near else f"it has {', '.join(fields)}"


def _kinds(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - typing objects
    """Yield the types that a field with the type ``annotation`` may have: the members of a union, or the type itself."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _kinds(typing.get_args(annotation)[0])
    elif origin in {typing.Union, types.UnionType}:
        for argument in typing.get_args(annotation):
            yield from _kinds(argument)
    else:
        yield annotation


def _model(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - typing objects
    return next((kind for kind in _kinds(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _mapped(annotation: Any) -> Any:  # noqa: ANN401 - typing objects
    """Return the type of the values of the map type ``annotation``, or None if it is not a map."""
    return next((typing.get_args(kind)[1] for kind in _kinds(annotation) if typing.get_origin(kind) is dict), None)


def _known_to_engine(name: str, knob: Knob) -> None:
    if re.fullmatch(r"[a-z]+(\.[a-z0-9-]+)*", name) is None:
        raise _WrongError(
            f"{name!r} is not a parameter of the simulator",
            "choose one from docs/engine.md, for example dcqcn.additive",
        )
    if not knob.values:
        raise _WrongError("it has no values")


def shown(values: Mapping[str, Setting], names: Sequence[str] | None = None) -> str:
    """Return values as text, such as ``min_fill=55, max_fill=90``, under short names (``short_names``).

    ``names`` are all names among which the short names must be unique; None means the names in ``values``.
    """
    short = short_names(list(names or values))
    return ", ".join(f"{short[name]}={value}" for name, value in values.items())


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return a short name for each of these dotted paths, by path: the shortest ending of the path that no other path in ``names`` has."""
    shortest: dict[str, str] = {}
    for name in names:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            end = ".".join(parts[-count:])
            if sum(name == end or name.endswith(f".{end}") for name in names) == 1:
                shortest[name] = end
                break
        else:
            shortest[name] = name
    return shortest
