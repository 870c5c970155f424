"""The reader of MLCommons Chakra execution traces. A trace has a file ``NAME.RANK.et`` for each rank."""

from __future__ import annotations

import importlib
import re
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, cast

from railweave.errors import FileLine, OutputError, Problem, SpecError
from railweave.prediction.jobs.traces.trace import Node, NodeKind, RankTrace, Trace, in_order, node_problem
from railweave.reading import open_file, parse_json, read_json, up_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from railweave.prediction.collectives.channels import Collective


MOST_BYTES = 2 << 30
"""The largest size in bytes of one rank's trace after decompression.

A step of a large model with all its kernels takes 100 MB.
"""
LONGEST_LENGTH = 10
"""The largest number of bytes that an encoded length can have in protobuf."""


def frames(path: Path) -> Iterator[bytes]:
    """Yield the encoded protobuf messages of a file, one after another. A file may be compressed.

    Raises ``SpecError`` if the file cannot be read, is too large, or ends within a message.
    """
    data, at, number = _content(path), 0, 0
    while at < len(data):
        length, begin = _length(path, data, at, number)
        if begin + length > len(data):
            description = f"the file ends within message {number + 1}: the message has {length:,} bytes, but only {len(data) - begin:,} are present"
            raise SpecError(
                [
                    Problem(
                        FileLine(str(path)), description, "copy the file again, or check that it is an execution trace"
                    )
                ]
            )
        yield data[begin : begin + length]
        at, number = begin + length, number + 1


def framed(message: bytes) -> bytes:
    """Return a message preceded by its length, as protobuf encodes it."""
    left, head = len(message), bytearray()
    while left > 0x7F:
        head.append(left & 0x7F | 0x80)
        left >>= 7
    head.append(left)
    return bytes(head) + message


def _length(path: Path, data: bytes, at: int, number: int) -> tuple[int, int]:
    """Return (the length encoded at position ``at`` of ``data``, the position after the encoded length).

    ``number`` is the message's number in the file, for errors.
    """
    length = shift = 0
    for place in range(at, min(at + LONGEST_LENGTH, len(data))):
        length |= (data[place] & 0x7F) << shift
        if data[place] < 0x80:
            return length, place + 1
        shift += 7
    description = f"message {number + 1}, at byte {at:,}, has no valid length"
    raise SpecError(
        [Problem(FileLine(str(path)), description, "the file is truncated, or is not a Chakra execution trace")]
    )


def _content(path: Path) -> bytes:
    try:
        with open_file(path) as stream:
            data = up_to(stream, MOST_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error.strerror or error}")]) from None
    if data[:2] == b"\x1f\x8b":
        unpacking = zlib.decompressobj(wbits=31)
        try:
            data = unpacking.decompress(data, MOST_BYTES + 1)
        except zlib.error as error:
            raise SpecError(
                [Problem(FileLine(str(path)), f"not a complete gzip file: {error}", "copy it again")]
            ) from None
        if not unpacking.eof and len(data) <= MOST_BYTES:
            raise SpecError(
                [Problem(FileLine(str(path)), "not a complete gzip file: it is truncated", "copy it again")]
            )
    if len(data) > MOST_BYTES:
        description = f"larger than {MOST_BYTES >> 30} GiB, the limit for one rank"
        raise SpecError([Problem(FileLine(str(path)), description, "give the trace of one step")])
    return data


PACKAGE = "ChakraProtoMsg"
NODE_TYPES = {0: "INVALID", 1: "METADATA", 2: "MEM_LOAD", 3: "MEM_STORE", 4: "COMP", 5: "COMM_SEND", 6: "COMM_RECV", 7: "COMM_COLL"}  # fmt: skip
COLLECTIVES = (
    "ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER",
)  # fmt: skip
"""The names of Chakra's collectives. The index of a name is the collective's number in Chakra's schema."""

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
"""The fields of each type of message in Chakra's schema, as (name, number, type, True if the field is repeated)."""


@dataclass(frozen=True)
class Messages:
    """The protobuf classes of Chakra's messages, and the error that protobuf raises for malformed messages."""

    node: Any
    attribute: Any
    metadata: Any
    error: type[Exception]


@lru_cache(maxsize=1)
def messages() -> Messages:
    """Return the protobuf classes of Chakra's messages. Raises ``OutputError`` if protobuf is not installed."""
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
        message_type = file.message_type.add(name=name)
        for some in fields:
            _field(described, message_type, *some)
    attribute = file.message_type.add(name="AttributeProto")
    _field(described, attribute, "name", 1, "string", False)
    _field(described, attribute, "doc_string", 2, "string", False)
    attribute.oneof_decl.add(name="value")
    for place, scalar in enumerate(_SCALARS):
        several = f"{scalar.capitalize()}List"
        _field(described, file.message_type.add(name=several), "values", 1, scalar, True)
        for number, (name, kind) in enumerate(((f"{scalar}_val", scalar), (f"{scalar}_list", several))):
            _field(described, attribute, name, 3 + 2 * place + number, kind, False)
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


EVERYBODY = ""
"""The name of the group of all ranks. Collectives without a group use this group."""


class ProcessGroups:
    """The process groups of a trace that is being read. Each group has a name, an index, and a tuple of ranks."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.members: list[tuple[int, ...]] = []
        self._named: dict[str, int] = {}
        self.add(EVERYBODY, tuple(range(ranks)))

    def add(self, name: str, members: tuple[int, ...]) -> int:
        """Add a group with the ranks ``members`` and return its index. An earlier group of the same name is replaced.

        Groups with different names stay separate, even if they have the same ranks.
        """
        if name in self._named:
            self.members[self._named[name]] = members
        else:
            self._named[name] = len(self.members)
            self.members.append(members)
        return self._named[name]

    def place(self, name: str) -> int | None:
        """Return the index of a group, or None if no group has this name."""
        return self._named.get(name)

    def read(self, path: Path) -> None:
        """Add the groups of a JSON file in ASTRA-sim's format, ``{"NAME": [RANK, ...], ...}``.

        Raises ``SpecError`` if the file cannot be read, or a group is invalid.
        """
        value: Any = read_json(path, fix='the form is {"NAME": [RANK, ...], ...}')
        if not isinstance(value, dict):
            raise SpecError(
                [
                    Problem(
                        FileLine(str(path)), "the file has no groups of ranks", 'the form is {"NAME": [RANK, ...], ...}'
                    )
                ]
            )
        for name, given in cast("dict[str, Any]", value).items():
            members = self._checked(given)
            if isinstance(members, str):
                raise SpecError([Problem(FileLine(str(path)), f"group {name[:60]!r}: {members}")])
            self.add(name, members)

    def of_pytorch(self, text: str) -> str | None:
        """Add the process groups that PyTorch lists as JSON in the inputs of a node. Return an error message, or None if all are valid."""
        inner = text[2:-2] if text[:2] in {"['", '["'} else text
        try:
            value: Any = parse_json(inner)
        except ValueError as error:
            return f"the process groups are not valid JSON: {error}"
        for group in cast("list[Any]", value) if isinstance(value, list) else []:
            if not isinstance(group, dict) or not isinstance(group.get("pg_name"), str):  # pyright: ignore[reportUnknownMemberType]
                return "a process group without a name"
            given = cast("dict[str, Any]", group)
            members = self._checked(given.get("ranks") or list(range(self.ranks)))
            if isinstance(members, str):
                return f"process group {given['pg_name'][:60]!r}: {members}"
            self.add(given["pg_name"], members)
        return None

    def _checked(self, given: Any) -> tuple[int, ...] | str:  # noqa: ANN401 - JSON
        """Return the ranks of a group from the JSON value ``given``, or an error message if they are invalid."""
        members = cast("list[Any]", given) if isinstance(given, list) else []
        if not members or not all(type(member) is int for member in members):
            return "it is not a list of ranks"
        if len(set(members)) < len(members):
            return "it contains a rank twice"
        if beyond := [member for member in members if not 0 <= member < self.ranks]:
            return f"it contains rank {beyond[0]}; the trace has {self.ranks} ranks, from 0"
        return tuple(members)


FILE = re.compile(r"(.+)\.([0-9]{1,6})\.et(?:\.gz)?")
GROUPS = "comm_group.json"
"""The usual file name of a trace's process groups. If the trace's folder also has ``NAME.comm_group.json``, that file is used."""
EXACT = "railweave_duration_ps"
"""The name of an attribute in traces that railweave wrote: the exact duration in ps. Chakra's durations are whole microseconds."""
LABEL = "railweave_kind"
"""The name of an attribute in traces that railweave wrote: the kind of parallelism, such as ``TP``, that a communication belongs to."""
MOST_PS = 1 << 62
"""The upper limit of a duration in ps: 53 days."""
MOST_SIZE = 1 << 50

_OF: dict[str, Collective] = {
    "ALL_REDUCE": "all-reduce",
    "REDUCE": "broadcast",
    "ALL_GATHER": "all-gather",
    "GATHER": "broadcast",
    "SCATTER": "broadcast",
    "BROADCAST": "broadcast",
    "ALL_TO_ALL": "all-to-all",
    "REDUCE_SCATTER": "reduce-scatter",
    "REDUCE_SCATTER_BLOCK": "reduce-scatter",
    "BARRIER": "all-reduce",
}
STANDS_FOR = {
    "REDUCE": "a reduce is run as a broadcast, which sends the same bytes over each link in the opposite direction",
    "GATHER": "a gather is run as a broadcast of all that the root receives",
    "SCATTER": "a scatter is run as a broadcast of all that the root sends",
    "BARRIER": "a barrier is run as an all-reduce of 4 bytes, as PyTorch's is",
}
_OF_ALL = {"ALL_GATHER", "GATHER", "SCATTER"}
"""Collectives for which nccl-tests counts the bytes of all ranks as the size, although a node of a trace has the bytes of one rank.

PyTorch's converter and ASTRA-sim write such nodes.
"""


def trace_files(path: Path) -> list[Path]:
    """Return the files of a trace, in order of rank.

    ``path`` is a folder that has only one trace, or FOLDER/NAME for files ``NAME.RANK.et``. Raises ``SpecError`` if there is no trace or
    more than one, or if the file of a rank is missing.
    """
    folder, name = (path, None) if path.is_dir() else (path.parent, path.name)
    traces: dict[str, dict[int, Path]] = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        match = FILE.fullmatch(file.name)
        if match and name in {None, match[1], file.name}:
            traces.setdefault(match[1], {})[int(match[2])] = file
    if not traces:
        description = "no execution trace: no file is called NAME.RANK.et" + (f" with NAME {name!r}" if name else "")
        raise SpecError(
            [Problem(FileLine(str(path)), description, "give the folder, or folder and name before the ranks")]
        )
    if len(traces) > 1:
        description = f"the folder has several traces: {', '.join(sorted(traces)[:6])}"
        raise SpecError([Problem(FileLine(str(path)), description, f"give one, {folder / min(traces)}")])
    (by_rank,) = traces.values()
    if absent := next((rank for rank in range(len(by_rank)) if rank not in by_rank), None):
        description = f"the file of rank {absent} is missing, but there is one of rank {max(by_rank)}"
        raise SpecError([Problem(FileLine(str(path)), description, "ranks count from 0, and each has a file")])
    if 0 not in by_rank:
        raise SpecError([Problem(FileLine(str(path)), "there is no file of rank 0", "ranks count from 0")])
    return [by_rank[rank] for rank in range(len(by_rank))]


def read_chakra(path: Path, groups: Path | None = None) -> Trace:
    """Read a trace of Chakra files. ``path`` is the argument of ``trace_files``.

    ``groups`` is the file of the trace's process groups; None means that the file is next to the trace. Raises
    ``SpecError`` with file and node, and ``OutputError`` if protobuf is not installed.
    """
    files = trace_files(path)
    known = ProcessGroups(len(files))
    name = FILE.fullmatch(files[0].name)
    beside = [files[0].with_name(f"{name[1] if name else ''}.{GROUPS}"), files[0].with_name(GROUPS)]
    at = groups or next((candidate for candidate in beside if candidate.is_file()), None)
    if at is not None:
        try:
            known.read(at)
        except FileNotFoundError:
            raise SpecError([Problem(FileLine(str(at)), "no such file")]) from None
    notes: dict[str, None] = {}
    ranks = [_Reading(str(file), rank, known, notes).read(file) for rank, file in enumerate(files)]
    return Trace(tuple(ranks), tuple(known.members), tuple(notes))


@dataclass
class _Reading:
    """The reader of one rank's file.

    It collects the nodes and, for each of them, its start time (``begins``) and the nodes that it waits for (``before``).
    """

    file: str
    rank: int
    groups: ProcessGroups
    notes: dict[str, None]
    nodes: list[Node] = field(default_factory=list[Node])
    begins: list[int] = field(default_factory=list[int])
    before: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])

    def read(self, path: Path) -> RankTrace:
        known = messages()
        for number, data in enumerate(frames(path)):
            message = known.metadata() if number == 0 else known.node()
            try:
                message.ParseFromString(data)
            except (known.error, ValueError):
                last = f", after node {self.nodes[-1].number} ({self.nodes[-1].name[:60]})" if self.nodes else ""
                description = f"message {number + 1}{last} is not a valid Chakra message"
                raise SpecError(
                    [Problem(FileLine(self.file), description, "the file is damaged, or is not an execution trace")]
                ) from None
            if number:
                self._take(message)
        return in_order(self.file, self.nodes, self.begins, self._after())

    def _take(self, message: Any) -> None:  # noqa: ANN401 - protobuf
        attributes = {attribute.name: _value(attribute) for attribute in message.attr}
        kind = NODE_TYPES.get(message.type)
        if kind is None:
            self._wrong(message, f"its type is {message.type}, which Chakra does not have")
        if kind == "METADATA":
            self._metadata(message)
        exact = attributes.get(EXACT)
        time = message.duration_micros * 10**6
        if type(exact) is int and abs(exact - time) <= 10**6:
            time = exact
        if time > MOST_PS:
            self._wrong(message, f"it takes {message.duration_micros:,} us", "use at most 53 days")
        label = attributes.get(LABEL)
        name = message.name
        if kind in {"COMM_COLL", "COMM_SEND", "COMM_RECV"} and attributes.get("is_cpu_op") is not True:
            node = self._sent(message, kind or "", attributes, label if isinstance(label, str) else "")
        elif kind in {"INVALID", "METADATA"}:
            node = Node(message.id, name, "none")
        else:
            of: NodeKind = "compute"
            if attributes.get("is_cpu_op") is True:
                of = "host"
            elif kind in {"MEM_LOAD", "MEM_STORE"}:
                of = "memory"
            flops = self._number(message, attributes, "num_ops", 0, 1 << 62)
            moved = self._number(message, attributes, "tensor_size", 0, MOST_SIZE)
            node = Node(message.id, name, of, time, flops=flops, moved_bytes=moved)
        self.nodes.append(node)
        self.begins.append(message.start_time_micros)
        self.before.append((*message.ctrl_deps, *message.data_deps))

    def _metadata(self, message: Any) -> None:  # noqa: ANN401 - protobuf
        text = message.inputs.values
        if "pg_name" in text and (wrong := self.groups.of_pytorch(text)):
            self._wrong(message, wrong)

    def _sent(self, message: Any, kind: str, attributes: dict[str, Any], label: str) -> Node:  # noqa: ANN401 - protobuf
        group = self._group(message, attributes)
        size = self._number(message, attributes, "comm_size", None, MOST_SIZE)
        if kind == "COMM_COLL":
            number = self._number(message, attributes, "comm_type", None, len(COLLECTIVES) - 1)
            word = COLLECTIVES[number]
            members = self.groups.members[group]
            if self.rank not in members:
                description = (
                    f"rank {self.rank} is not in its group {attributes.get('pg_name', '')!r}, ranks {_shown(members)}"
                )
                self._wrong(message, description, "give the groups of this trace")
            if word in STANDS_FOR:
                self.notes[STANDS_FOR[word]] = None
            bytes_ = 4 if word == "BARRIER" else size * (len(members) if word in _OF_ALL else 1)
            return Node(message.id, message.name, "collective", 0, (), _OF[word], bytes_, group, label=label)
        own_attribute, other = ("comm_src", "comm_dst") if kind == "COMM_SEND" else ("comm_dst", "comm_src")
        here = self._number(message, attributes, own_attribute, self.rank, 1 << 31)
        if here != self.rank:
            self._wrong(message, f"its {own_attribute} is rank {here}, and the file is of rank {self.rank}")
        pair = [member for member in self.groups.members[group] if member != self.rank]
        peer = self._number(message, attributes, other, pair[0] if len(pair) == 1 else None, self.groups.ranks - 1)
        tag = self._number(message, attributes, "comm_tag", 0, 1 << 32)
        direction = "send" if kind == "COMM_SEND" else "receive"
        return Node(message.id, message.name, direction, 0, (), "send-recv", size, peer=peer, tag=tag, label=label)

    def _group(self, message: Any, attributes: dict[str, Any]) -> int:  # noqa: ANN401 - protobuf
        name = attributes.get("pg_name", EVERYBODY)
        place = self.groups.place(str(name))
        if place is not None:
            return place
        if len(self.groups.members) > 1:
            fix = f"put the group into {GROUPS} next to the trace"
            self._wrong(message, f"the ranks of its group {str(name)[:60]!r} are not given", fix)
        self.notes["the trace gives no groups of ranks: all ranks are treated as one group"] = None
        return 0

    def _number(self, message: Any, attributes: dict[str, Any], name: str, missing: int | None, most: int) -> int:  # noqa: ANN401 - protobuf
        value = attributes.get(name, missing)
        if value is None:
            self._wrong(message, f"it has no {name}", "such a node cannot be run")
        if type(value) is not int or not 0 <= value <= most:
            self._wrong(message, f"its {name} is {str(value)[:40]}", f"a number from 0 to {most}")
        return value

    def _wrong(self, message: Any, description: str, fix: str = "") -> NoReturn:  # noqa: ANN401 - protobuf
        raise SpecError([node_problem(self.file, message.id, message.name, description, fix)])

    def _after(self) -> list[tuple[int, ...]]:
        """Return, for each node, the indexes of the nodes that it waits for."""
        places: dict[int, int] = {}
        for place, node in enumerate(self.nodes):
            if node.number in places:
                description = "another node has the same number"
                raise SpecError([node_problem(self.file, node.number, node.name, description, "numbers name nodes")])
            places[node.number] = place
        lost = sum(1 for before in self.before for dependency in before if dependency not in places)
        if lost:
            note = "dependencies on missing nodes are ignored"
            self.notes[note] = None
        return [tuple({places[dependency] for dependency in before if dependency in places}) for before in self.before]


def _value(attribute: Any) -> object:  # noqa: ANN401 - protobuf
    which = attribute.WhichOneof("value")
    return None if which is None or which.endswith("_list") else getattr(attribute, which)


def _shown(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
