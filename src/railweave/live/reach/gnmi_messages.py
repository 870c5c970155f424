"""Messages of gNMI, as classes that protobuf builds from the field numbers below (gNMI specification 0.10, `gnmi.proto`).

A message that may be received a hundred thousand times in ten seconds has a second class, whose name begins with Raw.
In this class, the path and the value of an update stay bytes. Both classes read the same data, because a nested message is
encoded as its bytes, preceded by their length. A path is looked up by its bytes and decoded only once. So no Python
object is made for each of its elements.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from railweave.model.state.telemetry import Elements

SUBSCRIBE, CAPABILITIES, GET = "/gnmi.gNMI/Subscribe", "/gnmi.gNMI/Capabilities", "/gnmi.gNMI/Get"
ENCODINGS = {"json": 0, "bytes": 1, "proto": 2, "ascii": 3, "json_ietf": 4}
STREAM = 0
MODES = {"target": 0, "on_change": 1, "sample": 2}

_SCALARS = {
    "double": 1,
    "float": 2,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "bool": 8,
    "string": 9,
    "bytes": 12,
    "uint32": 13,
}
_MESSAGES = {
    # The full form.
    "PathElem": "1 string name, 2 map key",
    "Path": "1 *string element, 2 string origin, 3 *PathElem elem, 4 string target",
    "Decimal64": "1 int64 digits, 2 uint32 precision",
    "ScalarArray": "1 *TypedValue element",
    "TypedValue": "1 string string_val, 2 int64 int_val, 3 uint64 uint_val, 4 bool bool_val, 5 bytes bytes_val, 6 float float_val,"
    " 7 Decimal64 decimal_val, 8 ScalarArray leaflist_val, 10 bytes json_val, 11 bytes json_ietf_val, 12 string ascii_val,"
    " 13 bytes proto_bytes, 14 double double_val",
    "Subscription": "1 Path path, 2 int32 mode, 3 uint64 sample_interval, 4 bool suppress_redundant, 5 uint64 heartbeat_interval",
    "SubscriptionList": "1 Path prefix, 2 *Subscription subscription, 5 int32 mode, 8 int32 encoding, 9 bool updates_only",
    "SubscribeRequest": "1 SubscriptionList subscribe",
    "CapabilityRequest": "",
    "ModelData": "1 string name, 2 string organization, 3 string version",
    "CapabilityResponse": "1 *ModelData supported_models, 2 *int32 supported_encodings, 3 string gnmi_version",
    "Update": "1 Path path, 3 TypedValue val, 4 uint32 duplicates",
    "Notification": "1 int64 timestamp, 2 Path prefix, 4 *Update update, 5 *Path delete, 6 bool atomic",
    "SubscribeResponse": "1 Notification update, 3 bool sync_response",
    # What is received: paths and values as bytes.
    "RawUpdate": "1 bytes path, 3 bytes val",
    "RawNotification": "1 int64 timestamp, 2 bytes prefix, 4 *RawUpdate update, 5 *bytes delete",
    "RawSubscribeResponse": "1 RawNotification update, 3 bool sync_response",
}  # fmt: skip
_ONE_OF = {"TypedValue", "SubscribeResponse", "RawSubscribeResponse"}
"""The messages that need a oneof of protobuf, because an empty field that is present differs in meaning from an absent field."""


@lru_cache(maxsize=1)
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="railweave/gnmi.proto", package="railweave.gnmi", syntax="proto3")
    for name, fields in _MESSAGES.items():
        made = file.message_type.add(name=name)
        if name in _ONE_OF:
            made.oneof_decl.add(name="held")
        for field in filter(None, fields.split(", ")):
            number, kind, called = field.split()
            _field(made, int(number), kind, called, held=name in _ONE_OF)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _field(made: descriptor_pb2.DescriptorProto, number: int, kind: str, called: str, *, held: bool) -> None:
    many, kind = kind.startswith("*"), kind.removeprefix("*")
    field = made.field.add(name=called, number=number, label=3 if many or kind == "map" else 1)
    if held:
        field.oneof_index = 0
    if kind in _SCALARS:
        field.type = cast("Any", _SCALARS[kind])
        return
    field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    if kind != "map":
        field.type_name = f".railweave.gnmi.{kind}"
        return
    entry = made.nested_type.add(name="KeyEntry")
    entry.options.map_entry = True
    for place, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=place, type=descriptor_pb2.FieldDescriptorProto.TYPE_STRING, label=1)
    field.type_name = f".railweave.gnmi.{made.name}.KeyEntry"


@lru_cache(maxsize=32)
def message(name: str) -> Any:  # noqa: ANN401 - classes of protobuf have no static type
    """Return the protobuf class with a name such as ``SubscribeRequest``."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"railweave.gnmi.{name}"))


def path_message(text: str, origin: str = "", target: str = "") -> Any:  # noqa: ANN401
    """Return a ``Path`` message for a path such as ``/interfaces/interface[name=et-0/0/1]/state``.

    A ``/`` in brackets is not a separator. ``origin`` and ``target`` are fields of the message.
    """
    made = message("Path")(origin=origin, target=target)
    for name, keys in elements(text):
        elem = made.elem.add(name=name)
        for key, value in keys.items():
            elem.key[key] = value
    return made


def elements(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return (name, keys) for each element of a path in text form. A backslash keeps a closing bracket within a key's value."""
    path_elements: list[tuple[str, dict[str, str]]] = []
    name, keys, key = "", dict[str, str](), ""
    value: str | None = None  # of the key that is being read
    escaped = inside = False
    for letter in f"{text.strip('/')}/" if text.strip("/") else "":
        if value is not None:
            if escaped or letter not in "\\]":
                value, escaped = value + letter, False
            elif letter == "\\":
                escaped = True
            else:
                keys[key], value, key, inside = value, None, "", False
        elif inside:
            value, key = ("", key) if letter == "=" else (None, key + letter)
        elif letter == "[":
            inside = True
        elif letter == "/":
            path_elements.append((name, keys))
            name, keys = "", {}
        else:
            name += letter
    return path_elements


def read_path(data: bytes) -> tuple[str, str, Elements]:
    """Return (origin, target, elements) of the encoded path ``data``. Each element has a name and keys.

    Raises ``ValueError`` for bytes that are not a path.
    """
    from google.protobuf.message import DecodeError

    try:
        path = message("Path").FromString(data)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    elems = [(element.name, tuple(sorted(element.key.items()))) for element in path.elem]
    if not elems:  # the older form, before 2017: names alone
        elems = [(name, ()) for name in path.element]
    return path.origin, path.target, tuple(elems)
