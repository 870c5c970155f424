"""Odd inputs, made of good ones so that most of them still have the form that a parser looks at first."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

from railweave.reading import compose_yaml

Mutator = Callable[[bytes, Random], bytes]
"""Make an input of a seed."""

ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 255, 4096, 65536, 1 << 31, 1 << 63, 1 << 70, 0.5, -0.0, 1e400, float("nan")),
    *("", " ", "0", "-1", "-Inf", "N/A", "%", ":", "/", "\x00", "\n", "٣", "²", "é", "a" * 4000, "9" * 5000, "1" * 400),
    *("10.0.0.0/8", "10.0.0.1/33", "::/0", "fe80::1%Et1+9", "RD: x", "65000.1", "1-4094", "4094-1", "a[1-9999999]"),
    *(
        "a[1-2",
        "secret:",
        "secret:a",
        "{x}",
        "1G",
        "1e9s",
        "10ms",
        "100%",
        "..",
        "a/b",
        "null",
        "*:*",
        "<<",
        "{",
        "[1,",
        '"',
    ),
    *([], {}, [[]], [None], [{}], {"": {}}, {"data": []}, {"attributes": 3}, ["x", "y"], {"x": "x"}),
]
SIGNS = ("<", ">", "</", "/>", *"{}[]\"':,;\\&#!|%*-", " - ")
PIECES = (
    *SIGNS,
    *(
        "<!DOCTYPE x>",
        "<![CDATA[",
        "]]>",
        "&lt;",
        "<secret:a>",
        "$9$",
        "/*",
        "*/",
        "null",
        "1e999",
        "-1",
        "0x",
        "é",
        "٣",
    ),
    *("!!python/object:x", "&a", "*a", "9" * 400, "\ud800", "\0", "\n", "\r\n", "\r", "\t", "\ufeff", "\u2028"),
)
NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF)
MOST = 1 << 14
"""The largest input in bytes that is made of text: what a parser does in more than linear time shows in it."""


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def odd_text(text: str, dice: Random) -> str:
    """A text with some characters changed, repeated or cut out."""
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        begin = dice.randrange(len(text) + 1)
        end = min(len(text), begin + dice.choice((0, 1, 3, 30, 300)))
        middle = dice.choice(("", dice.choice(PIECES), text[begin:end] * 2, str(dice.choice(ODD))[:300]))
        text = text[:begin] + middle + text[end:]
    return text


def text(seed: bytes, dice: Random) -> bytes:
    """Any text."""
    whole = seed.decode("utf-8", "replace")
    if len(whole) > MOST:
        begin = dice.randrange(len(whole) - MOST)
        whole = whole[begin : begin + MOST]
    return encoded(odd_text(whole, dice)[: 2 * MOST])


def _places(value: Any, depth: int = 0) -> list[tuple[Any, Any, int]]:
    """The containers of a tree, each with a key in it and its depth."""
    found: list[tuple[Any, Any, int]] = []
    pending = [(value, depth)]
    while pending:
        at, deep = pending.pop()
        items = list(at.items()) if isinstance(at, dict) else list(enumerate(at)) if isinstance(at, list) else []
        for key, inner in items:
            found.append((at, key, deep))
            pending.append((inner, deep + 1))
    return found


def _near(value: Any, dice: Random) -> Any:
    """A value like the given one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return dice.choice(
            (value + 1, value - 1, -value, value * 1000, value / 3, str(value), [value], dice.choice(NUMBERS))
        )
    if isinstance(value, str):
        words = re.split(r"(\d+)", value)
        if len(words) > 1 and dice.random() < 0.5:
            at = dice.randrange(1, len(words), 2)
            words[at] = str(dice.choice((0, 1, 2, 255, 256, 65536, int(words[at][:20]) + 1, "٣", "")))
            return "".join(words)
        return odd_text(value, dice) if dice.random() < 0.7 else [value, value]
    if isinstance(value, list):
        return dice.choice((value * 2, value[::-1], value[:1], {str(key): inner for key, inner in enumerate(value)}))
    return [value] if value is None or dice.random() < 0.3 else {**value, "other": 1}


def odd_tree(value: Any, dice: Random, top: float = 0.15) -> Any:
    """A tree with some of its values replaced, moved, repeated or left out. ``top`` is the chance that its top keys change too."""
    value = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        places = _places(value)
        if not places:
            return dice.choice(ODD)
        if dice.random() > top:
            places = [place for place in places if place[2] > 0] or places
        at, key, _ = dice.choice(places)
        kind = dice.random()
        if kind < 0.35:
            at[key] = _near(at[key], dice)
        elif kind < 0.6:
            at[key] = copy.deepcopy(dice.choice(ODD))
        elif kind < 0.75:
            other, inner, _ = dice.choice(places)
            at[key] = copy.deepcopy(other[inner])
        elif kind < 0.85:
            del at[key]
        elif isinstance(at, list):
            at.insert(key, copy.deepcopy(at[key]))
        else:
            at[str(dice.choice((key, dice.choice(ODD), f"{key}x")))[:100]] = at.pop(key)
    return value


@cache
def _json(seed: bytes) -> Any:
    return json.loads(seed)


def json_value(seed: bytes, dice: Random) -> bytes:
    """A JSON document with other values, or now and then the text of one."""
    if dice.random() < 0.1:
        return text(seed, dice)
    return json.dumps(
        odd_tree(_json(seed), dice), indent=dice.choice((None, 1)), ensure_ascii=dice.random() < 0.5
    ).encode("utf-8", "replace")


@cache
def _yaml(seed: bytes) -> Any:
    def plain(node: Any) -> Any:
        if node.id == "mapping":
            return {key.value: plain(value) for key, value in node.value}
        if node.id == "sequence":
            return [plain(item) for item in node.value]
        return _scalar(node)

    return plain(compose_yaml(seed.decode(), "seed"))


def _scalar(node: Any) -> Any:
    from railweave.model.intent.reading.document import plain

    return node.value if node.style in {'"', "'", "|", ">"} else plain(node.value)


def yaml_value(seed: bytes, dice: Random) -> bytes:
    """A YAML document with other values, written as JSON, which is YAML; now and then the text of one."""
    if dice.random() < 0.2:
        return text(seed, dice)
    made = json.dumps(odd_tree(_yaml(seed), dice), indent=1, ensure_ascii=dice.random() < 0.5)
    return encoded(made.replace("NaN", ".nan").replace("Infinity", ".inf"))


def table(seed: bytes, dice: Random) -> bytes:
    """A table with cells, rows or columns changed."""
    if dice.random() < 0.1:
        return text(seed, dice)
    rows = list(csv.reader(io.StringIO(seed.decode())))
    begin = dice.randrange(1, max(2, len(rows)))
    rows = [rows[0], *rows[begin : begin + dice.randrange(1, 60)]]
    cells = [cell for row in rows[1:] for cell in row] or [""]
    for _ in range(dice.choice((1, 1, 2, 4, 10))):
        place = dice.randrange(1, len(rows)) if len(rows) > 1 else 0
        if not place or not rows[place]:
            rows.append([dice.choice(cells)])
            continue
        row, column = rows[place], dice.randrange(len(rows[place]))
        kind = dice.random()
        if kind < 0.4:
            row[column] = odd_text(row[column], dice)[:6000]
        elif kind < 0.6:
            row[column] = str(dice.choice(ODD))
        elif kind < 0.7:
            row[column] = dice.choice(cells)
        elif kind < 0.8:
            rows.insert(place, list(row))
        elif kind < 0.9:
            del row[column]
        else:
            row.insert(column, dice.choice(cells))
    if dice.random() < 0.1:
        rows[0].insert(dice.randrange(len(rows[0])), dice.choice((*rows[0], "other", "")))
    out = io.StringIO()
    csv.writer(out, lineterminator=dice.choice(("\n", "\n", "\r\n"))).writerows(rows)
    return encoded(out.getvalue())


def lines(words: Callable[[], Sequence[str]], window: int = 120) -> Mutator:
    """Return a mutator of lines of text: some of a seed's lines, dropped, doubled, moved, or with other words in them."""

    def mutated(seed: bytes, dice: Random) -> bytes:
        pool = words()
        whole = seed.decode().split("\n")
        begin = dice.randrange(len(whole)) if len(whole) > window else 0
        some = whole[begin : begin + window]
        for _ in range(dice.randrange(1, 8)):
            at = dice.randrange(len(some)) if some else 0
            match dice.randrange(7) if some else 6:
                case 0:
                    del some[at]
                case 1:
                    some.insert(dice.randrange(len(some)), some[at])
                case 2 | 3:
                    some[at] = _other_word(some[at], dice, pool)
                case 4:
                    place = dice.randrange(len(some[at]) + 1)
                    some[at] = some[at][:place] + chr(dice.choice((*range(1, 256), 0x661, 0x2028))) + some[at][place:]
                case 5:
                    some[at] = " " * dice.randrange(5) + some[at].strip()
                case _:
                    some.append(" ".join(dice.choices(pool, k=dice.randrange(1, 6))))
        return encoded("\n".join(some)[: 2 * MOST])

    return mutated


def _other_word(line: str, dice: Random, words: Sequence[str]) -> str:
    parts = line.split(" ")
    at = dice.randrange(len(parts))
    parts[at : at + 1] = dice.choice(([dice.choice(words)], [], [parts[at]] * 2, [dice.choice(words), parts[at]]))
    return " ".join(parts)


def words_of(seeds: Sequence[bytes]) -> list[str]:
    """The different words of some texts, and words that fit nowhere."""
    found = dict.fromkeys(word for seed in seeds for word in re.findall(r"\S+", seed.decode()))
    return [*found, *(str(odd)[:300] for odd in ODD if odd is None or isinstance(odd, str | int)), *SIGNS]


def words(seeds: Callable[[], Sequence[bytes]], opening: str = "{", closing: str = "}") -> Mutator:
    """Return a mutator of text whose blocks are in brackets: words are changed, and blocks cut out or doubled as a whole."""
    pool = cache(lambda: [word for word in words_of(seeds()) if word not in {opening, closing}])

    def mutated(seed: bytes, dice: Random) -> bytes:
        parts = re.split(r"(\s+)", seed.decode())
        for _ in range(dice.randrange(1, 8)):
            at = dice.randrange(0, len(parts), 2)
            if dice.random() < 0.02:
                parts[at] = dice.choice((opening, closing, "", "\x00", '"', "\\", "/*", ";"))
            elif parts[at] == opening:
                end = _closed(parts, at, opening, closing)
                block = parts[at : end + 1]
                parts[at : end + 1] = dice.choice(([*block, " ", *block], [opening, " ", closing], block))
            elif parts[at] != closing:
                ends = re.search(r"[;\]]*$", parts[at])
                parts[at] = dice.choice(pool()).rstrip(";") + (ends[0] if ends else "")
            if not parts:
                parts = [""]
        return encoded("".join(parts)[: 4 * MOST])

    return mutated


def elements(seed: bytes, dice: Random) -> bytes:
    """XML with some of its elements moved, doubled or left out, or with other text in them."""
    top = ET.fromstring(seed)  # noqa: S314 - the tests' own text
    for _ in range(dice.randrange(1, 6)):
        around = [element for element in top.iter() if len(element)]
        if not around:
            break
        parent = dice.choice(around)
        child = parent[dice.randrange(len(parent))]
        kind = dice.random()
        if kind < 0.4:
            child.text = "".join(character for character in str(dice.choice(ODD)) if character.isprintable())
        elif kind < 0.6:
            parent.remove(child)
        elif kind < 0.8:
            dice.choice(around).append(copy.deepcopy(child))
        elif kind < 0.9:
            child.tag = dice.choice(list(top.iter())).tag
        else:
            child.set(dice.choice(("inactive", "operation", "name")), dice.choice(("inactive", "delete", "")))
    return ET.tostring(top)


def _closed(parts: list[str], at: int, opening: str, closing: str) -> int:
    """The place of the bracket that ends a block, or the last."""
    depth = 0
    for place in range(at, len(parts)):
        depth += (parts[place] == opening) - (parts[place] == closing)
        if not depth:
            return place
    return len(parts) - 1


def one_of(*mutators: tuple[float, Mutator]) -> Mutator:
    """Return a mutator that is one of several, each with its weight."""
    weights = [weight for weight, _ in mutators]

    def mutated(seed: bytes, dice: Random) -> bytes:
        [(_, chosen)] = dice.choices(mutators, weights)
        return chosen(seed, dice)

    return mutated


def binary(head: int = 0, most: int = MOST) -> Mutator:
    """Return a mutator of bytes: numbers overwritten, pieces doubled, moved or cut. The first ``head`` bytes mostly stay."""

    def mutated(seed: bytes, dice: Random) -> bytes:
        data = bytearray(seed)
        for _ in range(dice.choice((1, 1, 2, 4, 16))):
            first = head if dice.random() < 0.95 and len(data) > head else 0
            if len(data) <= first:
                data += bytes(dice.randrange(1, 9))
            at = dice.randrange(first, len(data))
            kind, width = dice.random(), dice.choice((1, 2, 4, 8))
            if kind < 0.3:
                data[at] = dice.randrange(256)
            elif kind < 0.6:
                number = dice.choice(NUMBERS) & ((1 << 8 * width) - 1)
                data[at : at + width] = number.to_bytes(width, dice.choice(("little", "big")))
            elif kind < 0.75:
                del data[at : at + dice.choice((1, 2, 4, 40))]
            elif kind < 0.9:
                data[at:at] = data[at : at + dice.choice((1, 4, 40))]
            elif kind < 0.95:
                data[at:at] = dice.randbytes(dice.choice((1, 4, 40)))
            else:
                del data[at:]
        return bytes(data[:most])

    return mutated


def message(made: Any, dice: Random) -> None:
    """Change some fields of a message of protobuf, or of messages in it."""
    fields = made.DESCRIPTOR.fields
    for _ in range(dice.choice((1, 1, 2, 4))):
        field = dice.choice(fields)
        repeated = (
            isinstance(getattr(made, field.name), Sequence | object)
            and hasattr(getattr(made, field.name), "__len__")
            and not isinstance(getattr(made, field.name), str | bytes)
        )
        if dice.random() < 0.15:
            made.ClearField(field.name)
        elif repeated:
            _many(getattr(made, field.name), field, dice)
        elif field.message_type is not None:
            message(getattr(made, field.name), dice)
        else:
            setattr(made, field.name, _scalar_of(field, dice))


def _many(held: Any, field: Any, dice: Random) -> None:
    if hasattr(held, "items"):  # a map
        held[str(dice.choice(ODD))[:50].encode("utf-8", "replace").decode()] = str(dice.choice(ODD))[:50]
    elif held and dice.random() < 0.3:
        del held[dice.randrange(len(held))]
    elif field.message_type is not None:
        at = dice.choice(held) if held else held.add()
        if dice.random() < 0.2:
            held.add().CopyFrom(at)
        message(at, dice)
    else:
        held.append(dice.choice((*held, _scalar_of(field, dice))))


def _scalar_of(field: Any, dice: Random) -> Any:
    kinds = type(field)
    match field.cpp_type:
        case kinds.CPPTYPE_STRING if field.type == kinds.TYPE_BYTES:
            return dice.randbytes(dice.choice((0, 1, 3, 20)))
        case kinds.CPPTYPE_STRING:
            return str(dice.choice(ODD))[:200].encode("utf-8", "replace").decode()
        case kinds.CPPTYPE_BOOL:
            return dice.random() < 0.5
        case kinds.CPPTYPE_FLOAT | kinds.CPPTYPE_DOUBLE:
            return dice.choice((0.0, -1.0, 1e300, float("inf"), float("nan")))
        case kinds.CPPTYPE_UINT32:
            return dice.choice(NUMBERS) & 0xFFFFFFFF
        case kinds.CPPTYPE_UINT64:
            return dice.choice((*NUMBERS, (1 << 64) - 1))
        case kinds.CPPTYPE_ENUM:
            return dice.choice((0, 1, 2, 3, 7, 99))
        case kinds.CPPTYPE_INT32:
            return dice.choice((0, 1, 5, -1, (1 << 31) - 1, -(1 << 31)))
        case _:
            return dice.choice((0, 1, 5, -1, (1 << 63) - 1, -(1 << 63)))
