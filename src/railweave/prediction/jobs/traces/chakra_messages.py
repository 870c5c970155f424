"""The messages of MLCommons Chakra execution traces, for the library protobuf (extra ``[traces]``), which is imported here alone.

Names and numbers of fields are those of the schema that Chakra publishes (mlcommons/chakra, ``schema/protobuf/et_def.proto``, 0.0.4): whatever reads
or writes such files agrees on them. Fields that are not named here are kept by protobuf, and mean nothing to railweave.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from railweave.errors import OutputError

PACKAGE = "ChakraProtoMsg"
NODE_TYPES = {0: "INVALID", 1: "METADATA", 2: "MEM_LOAD", 3: "MEM_STORE", 4: "COMP", 5: "COMM_SEND", 6: "COMM_RECV", 7: "COMM_COLL"}  # fmt: skip
COLLECTIVES = (
    "ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER",
)  # fmt: skip
"""By their numbers."""

_SCALARS = ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes")  # fmt: skip
_FIELDS: dict[str, tuple[tuple[str, int, str, bool], ...]] = {
    "GlobalMetadata": (("version", 1, "string", False), ("attr", 2, "AttributeProto", True)),
    "IOInfo": (("values", 1, "string", False), ("shapes", 2, "string", False), ("types", 3, "string", False)),
    "Node": (
        ("id", 1, "uint64", False),
        ("name", 2, "string", False),
        ("type", 3, "int32", False),  # an enumeration there, which is the same on the wire
        ("ctrl_deps", 4, "uint64", True),
        ("data_deps", 5, "uint64", True),
        ("start_time_micros", 6, "uint64", False),
        ("duration_micros", 7, "uint64", False),
        ("inputs", 8, "IOInfo", False),
        ("outputs", 9, "IOInfo", False),
        ("attr", 10, "AttributeProto", True),
    ),
}
"""Name, number, type, and whether it is repeated."""


@dataclass(frozen=True)
class Messages:
    """The classes of protobuf, and the error that it raises for what is no such message."""

    node: Any
    attribute: Any
    metadata: Any
    error: type[Exception]


@lru_cache(maxsize=1)
def messages() -> Messages:
    """The messages. Raises ``OutputError`` where protobuf is not installed."""
    try:
        described: Any = importlib.import_module("google.protobuf.descriptor_pb2")
        pool: Any = importlib.import_module("google.protobuf.descriptor_pool")
        factory: Any = importlib.import_module("google.protobuf.message_factory")
        message: Any = importlib.import_module("google.protobuf.message")
    except ImportError:
        raise OutputError(
            "traces of Chakra need protobuf, which is not installed: pip install 'railweave[traces]'"
        ) from None
    file = described.FileDescriptorProto(name="railweave/chakra.proto", package=PACKAGE, syntax="proto3")
    for name, fields in _FIELDS.items():
        one = file.message_type.add(name=name)
        for field in fields:
            _field(described, one, *field)
    attribute = file.message_type.add(name="AttributeProto")
    _field(described, attribute, "name", 1, "string", False)
    _field(described, attribute, "doc_string", 2, "string", False)
    attribute.oneof_decl.add(name="value")
    for place, scalar in enumerate(_SCALARS):
        several = f"{scalar.capitalize()}List"
        _field(described, file.message_type.add(name=several), "values", 1, scalar, True)
        for number, (field, kind) in enumerate(((f"{scalar}_val", scalar), (f"{scalar}_list", several))):
            _field(described, attribute, field, 3 + 2 * place + number, kind, False)
            attribute.field[-1].oneof_index = 0
    known = pool.DescriptorPool()
    known.Add(file)

    def made(name: str) -> Any:  # noqa: ANN401 - protobuf's own class
        return factory.GetMessageClass(known.FindMessageTypeByName(f"{PACKAGE}.{name}"))

    return Messages(made("Node"), made("AttributeProto"), made("GlobalMetadata"), message.DecodeError)


def _field(described: Any, message: Any, name: str, number: int, kind: str, repeated: bool) -> None:  # noqa: ANN401 - protobuf
    proto = described.FieldDescriptorProto
    label = proto.LABEL_REPEATED if repeated else proto.LABEL_OPTIONAL
    if kind in _SCALARS:
        message.field.add(name=name, number=number, label=label, type=getattr(proto, f"TYPE_{kind.upper()}"))
    else:
        message.field.add(
            name=name, number=number, label=label, type=proto.TYPE_MESSAGE, type_name=f".{PACKAGE}.{kind}"
        )
