"""The JSON Schema and the Markdown reference of the fabric file and the scenario file, generated from their models."""

from __future__ import annotations

import types
import typing
from typing import Any, cast

from pydantic import BaseModel, WithJsonSchema
from pydantic_core import PydanticUndefined

from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.scenario import KINDS, Scenario

if typing.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic.fields import FieldInfo

HEAD = """# Fabric file reference

Generated from the models by `make docs`; do not edit. Every section below is a model; a field's type links to the
section that describes it. A dash as default: the field is empty (`null` where the type is one value), or a section has
the defaults of its fields. A value as a type shows how values are written (`400G`, `2-4094`, `fc00::/16`); a bare number
is taken in the unit of the field. Unknown keys are refused with the nearest right one.

"""


SCENARIO_HEAD = """# Scenario, job and study files

Generated from the models by `make docs`; do not edit. A scenario is what happens on a network: a job's traffic, that of
others, and what breaks. `railweave sim FABRIC --scenario FILE` predicts it, the lab makes its faults happen on real
routing daemons. Times are written as `100us`, `5ms` or `2s`, sizes as nccl-tests has them (`1G` is 2^30 bytes), rates as
`100G` (10^11 bit/s), shares as `30%` or 0.3. Unknown keys and names are refused with their line and the nearest right one.

```yaml
name: a spine dies under an all-reduce
traffic:
  - {collective: all-reduce, size: 64M, qps: 4, compute: 100us, repeat: 2}
background: {share: 10%, ports: "*:gpu0_eth", packet: 9000}
reroute: 500us
faults:
  - {at: 400us, for: 2ms, kind: device-down, device: spine1}
  - {at: 400us, kind: link-lossy, link: stripe1-leaf1--spine2, loss: 0.1%}
```

"""


def fabric_schema() -> dict[str, Any]:
    """Return the JSON Schema of the fabric file (draft 2020-12), for editors."""
    schema = _standard(FabricFile.model_json_schema())
    definitions: dict[str, Any] = schema["$defs"]
    definitions["TrafficClass"].pop("required", None)  # a class is completed by the default of its name
    definitions["Qos"]["properties"]["classes"]["additionalProperties"] = {
        "anyOf": [{"$ref": "#/$defs/TrafficClass"}, {"type": "null"}]
    }
    for model, name in (("ServerGroup", "names"), ("Topology", "stripes"), ("Topology", "spines")):
        field = definitions[model]["properties"][name]
        branches = field.get("anyOf") or [{key: field.pop(key) for key in ("type", "items") if key in field}]
        field["anyOf"] = [*branches, {"type": "string", "description": "a host list such as H100-[01-04]"}]
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "railweave fabric file"}


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of the scenario file (draft 2020-12), with the required fields of each kind of fault."""
    schema = _standard(Scenario.model_json_schema(by_alias=True))
    schema["$defs"]["Fault"]["allOf"] = [
        {
            "if": {"properties": {"kind": {"const": name}}, "required": ["kind"]},
            "then": {"required": list(kind.needs)},
        }
        for name, kind in KINDS.items()
    ]
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "railweave scenario file"}


def scenario_reference() -> str:
    """Return the reference of the scenario file as Markdown, with a table of the faults that each runner supports."""
    refusals = [why for kind in KINDS.values() for why in (kind.sim, kind.lab, kind.campaign) if why]
    notes = list(dict.fromkeys(refusals))

    def runs(why: str) -> str:
        return f"no ({notes.index(why) + 1})" if why else "yes"

    rows = [
        f"| `{name}` | {', '.join(f'`{field}`' for field in kind.needs)} | {kind.meaning} | "
        f"{runs(kind.sim)} | {runs(kind.lab)} | {runs(kind.campaign)} |"
        for name, kind in KINDS.items()
    ]
    head = ["| kind | needs | meaning | `sim` | lab | `deploy campaign` |", "|---|---|---|---|---|---|"]
    reasons = [f"{number}. {why}" for number, why in enumerate(notes, 1)]
    about = "A number in brackets is that of a reason below the table."
    table = ["## Kinds of faults", "", about, "", *head, *rows, "", *reasons, ""]
    return SCENARIO_HEAD + "\n".join([*(_section(model) for model in _models(Scenario)), *table])


_KEYWORDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum"}


def _standard(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Return the schema with pydantic's own keywords replaced by standard JSON Schema.

    The limits ``ge``, ``gt`` and ``le`` become ``minimum``, ``exclusiveMinimum`` and ``maximum``; ``patternProperties`` becomes
    ``propertyNames`` and ``additionalProperties``.
    """
    if isinstance(value, dict):
        result = {_KEYWORDS.get(key, key): _standard(inner) for key, inner in cast("dict[str, Any]", value).items()}
        for pattern, inner in result.pop("patternProperties", {}).items():
            result |= {"propertyNames": {"pattern": pattern}, "additionalProperties": inner}
        return result
    return [_standard(inner) for inner in cast("list[Any]", value)] if isinstance(value, list) else value


def fabric_reference() -> str:
    """Return the reference of the fabric file as Markdown: one section for each model, the top-level model first."""
    sections = [_section(model) for model in _models(FabricFile)]
    return HEAD + "\n".join(sections)


def schema_of(model: type[BaseModel], title: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a file that ``model`` describes."""
    schema = _standard(model.model_json_schema(by_alias=True))
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}


def reference_of(model: type[BaseModel]) -> str:
    """Return the Markdown reference of a file that ``model`` describes: one section for each model, the top-level model first."""
    models = _models(model)
    return "\n".join(_section(section_model, models[:place]) for place, section_model in enumerate(models))


def _models(root: type[BaseModel]) -> list[type[BaseModel]]:
    models: list[type[BaseModel]] = []
    waiting: list[type[BaseModel]] = [root]
    while waiting:
        model = waiting.pop(0)
        if model in models:
            continue
        models.append(model)
        for info in model.model_fields.values():
            waiting += list(_inner(info.annotation))
    return models


def _inner(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - typing objects
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _inner(argument)


def _section(model: type[BaseModel], earlier: Sequence[type[BaseModel]] = ()) -> str:
    """Return the Markdown section of a model.

    If the model shares at least three fields with an ``earlier`` model, the section refers to that model for these fields.
    """
    text = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    rows = _rows(model)
    for other in earlier:
        same = [name for name, row in _rows(other).items() if rows.get(name) == row]
        if len(same) >= SAME:
            rows = {name: row for name, row in rows.items() if name not in same}
            text += f" {', '.join(f'`{name}`' for name in same)}: as in {_name(other)}."
    return "\n".join(
        [
            f"## {model.__name__}",
            "",
            text,
            "",
            "| field | type | default | meaning |",
            "|---|---|---|---|",
            *rows.values(),
            "",
        ]
    )


SAME = 3
"""The number of fields that a model must share with an earlier model for its section to refer to that model."""


def _rows(model: type[BaseModel]) -> dict[str, str]:
    """Return each field's table row, by the field's name in files."""
    return {
        info.alias
        or name: f"| `{info.alias or name}` | {_type(info)} | {_default(info)} | {(info.description or '').replace('|', chr(92) + '|')} |"
        for name, info in model.model_fields.items()
    }


def _type(info: FieldInfo) -> str:
    """Return a field's type from ``info``. ``null`` is left out if it is the default, which the column of defaults shows as a dash."""
    examples = [example for item in info.metadata for example in _examples(item)]
    shown = f"`{examples[0]}`" if examples else _name(info.annotation)
    if info.default is None:
        shown = shown.removesuffix(" \\| null")
    limits = [
        f"{symbol} {getattr(item, key)}"
        for item in info.metadata
        for key, symbol in (("ge", "≥"), ("gt", ">"), ("le", "≤"))
        if hasattr(item, key)
    ]
    return f"{shown}{', ' if limits else ''}{', '.join(limits)}"


def _examples(item: object) -> list[str]:
    """Return the JSON Schema examples of ``item`` (a type's annotation)."""
    return item.json_schema.get("examples", []) if isinstance(item, WithJsonSchema) and item.json_schema else []


def _name(annotation: Any) -> str:  # noqa: ANN401 - typing objects
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if annotation is type(None):
        return "null"
    if hasattr(annotation, "__metadata__"):
        examples = [example for item in annotation.__metadata__ for example in _examples(item)]
        if examples:
            return f"`{examples[0]}`"
        return _name(annotation.__origin__)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    if origin is typing.Literal:
        return " \\| ".join(f"`{value}`" for value in arguments)
    if origin in {typing.Union, types.UnionType}:
        return " \\| ".join(_name(argument) for argument in arguments)
    if origin is dict:
        return f"map of {_name(arguments[1])}"
    if origin is tuple:
        return f"list of {_name(arguments[0])}" if arguments[-1] is Ellipsis else "pair"
    words = {"str": "text", "int": "number", "float": "number", "bool": "yes/no"}
    name = str(getattr(cast("object", annotation), "__name__", ""))
    return words.get(name, name)


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "**required**"
    value: Any = info.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined or value is None or value in ((), {}, "") or isinstance(value, BaseModel):
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"`{key}`" for key in cast("dict[str, Any]", value))
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, tuple):
        return f"`{'-'.join(str(item) for item in cast('tuple[Any, ...]', value))}`"
    return f"`{value}`"
