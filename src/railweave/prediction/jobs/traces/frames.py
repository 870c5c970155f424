"""Files of messages one after another, each with its length before it: how execution traces are written, plain or as gzip."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES = 2 << 30
"""Of a trace of one rank, unpacked: a step of a large model with every kernel of it takes 100 MB."""
LONGEST_LENGTH = 10
"""Bytes of a length: protobuf's numbers have no more."""


def frames(path: Path) -> Iterator[bytes]:
    """The messages of a file. Raises ``SpecError`` where it cannot be read, is too large, or ends within a message."""
    data, at, number = _content(path), 0, 0
    while at < len(data):
        length, begin = _length(path, data, at, number)
        if begin + length > len(data):
            what = (
                f"it ends within message {number + 1}: {length:,} bytes are announced, {len(data) - begin:,} are there"
            )
            raise SpecError([Problem(FileLine(str(path)), what, "copy the file again; or it is no execution trace")])
        yield data[begin : begin + length]
        at, number = begin + length, number + 1


def framed(message: bytes) -> bytes:
    """A message with its length before it."""
    left, head = len(message), bytearray()
    while left > 0x7F:
        head.append(left & 0x7F | 0x80)
        left >>= 7
    head.append(left)
    return bytes(head) + message


def _length(path: Path, data: bytes, at: int, number: int) -> tuple[int, int]:
    """The length that stands at a place, and where the message begins."""
    found = shift = 0
    for place in range(at, min(at + LONGEST_LENGTH, len(data))):
        found |= (data[place] & 0x7F) << shift
        if data[place] < 0x80:
            return found, place + 1
        shift += 7
    what = f"no length stands before message {number + 1}, at byte {at:,}"
    raise SpecError([Problem(FileLine(str(path)), what, "it is cut off, or no execution trace of Chakra")])


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error.strerror or error}")]) from None
    if data[:2] == b"\x1f\x8b":
        unpacking = zlib.decompressobj(wbits=31)
        try:
            data = unpacking.decompress(data, MOST_BYTES + 1)
        except zlib.error as error:
            raise SpecError([Problem(FileLine(str(path)), f"no whole gzip file: {error}", "copy it again")]) from None
        if not unpacking.eof and len(data) <= MOST_BYTES:
            raise SpecError([Problem(FileLine(str(path)), "no whole gzip file: it is cut off", "copy it again")])
    if len(data) > MOST_BYTES:
        what = f"larger than {MOST_BYTES >> 30} GiB, the most that is read of a rank"
        raise SpecError([Problem(FileLine(str(path)), what, "give the trace of one step")])
    return data
