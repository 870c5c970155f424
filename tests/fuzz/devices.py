"""Parsers of what devices say: their configurations, their answers, and captures of packets."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from xml.etree import ElementTree as ET

from railweave.analysis.expect.hosts import expected_host
from railweave.errors import RenderError
from railweave.host import packets
from railweave.host.failure import HostError
from railweave.model.config.gate import redacted
from railweave.model.device.config_file import from_document, to_document
from railweave.model.state.host_state import read_host
from railweave.systems import system, systems
from railweave.systems.reading import read_state
from tests.fuzz.driver import Parser
from tests.fuzz.files import CORPUS, EARLIER, GOLDEN, small
from tests.fuzz.mutators import (
    PIECES,
    binary,
    elements,
    encoded,
    json_value,
    lines,
    odd_text,
    odd_tree,
    one_of,
    text,
    words,
    words_of,
)
from tests.host.test_packets import FORMS, FRAMES, pcap, pcapng
from tests.live.check.said.host import answer
from tests.systems.dell_sonic.test_read import every_line
from tests.systems.eos.texts import GENERATED_LEAF, SHOWN_SPINE
from tests.systems.frr.test_read import NUMBERED, UNNUMBERED
from tests.systems.sonic.test_read import MANAGED

SECRET_LINES = b"""\
set system login user u authentication encrypted-password "$6$saltsalt$hash"
username admin secret sha512 $6$saltsalt$hash
neighbor 10.0.0.1 password 7 0123456789
snmp-server community public ro
{"a": {"passkey": "x y", "password": ["a", "b"]}}
<configuration><secret>abc</secret><key-string>$9$abc</key-string></configuration>
-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASC
-----END PRIVATE KEY-----
authentication { hmac-sha-1 key "a b"; } tacplus-server { 10.0.0.1 { secret s; } }
"""


REPEATED = 1 << 17
"""Characters of repeated pieces: half a second's work that grows with the length, a minute's that grows with its square."""


def _texts(*paths: Path) -> list[bytes]:
    return [path.read_bytes() for path in paths]


def _printed(text: str) -> list[bytes]:
    return [text.encode()]


_FILES: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "junos": ("junos.conf", lambda: _texts(CORPUS / "junos.conf")),
    "junos set": (
        "junos.set",
        lambda: _texts(
            EARLIER / "capture" / "stripe1-leaf1" / "configuration.txt",
            GOLDEN / "dci-50km" / "devices" / "ptx-east" / "junos.set",
        ),
    ),
    "junos xml": ("junos.xml", lambda: _texts(CORPUS / "junos.xml")),
    "junos json": ("junos.json", lambda: _texts(CORPUS / "junos.json")),
    "eos": (
        "eos.conf",
        lambda: [
            *_texts(GOLDEN / "three-vendors" / "devices" / "fra1-h100-leaf1" / "eos.conf"),
            GENERATED_LEAF.encode(),
            SHOWN_SPINE.encode(),
        ],
    ),
    "eos json": ("eos.conf", lambda: _texts(CORPUS / "eos.json")),
    "frr": (
        "frr.conf",
        lambda: [
            *_texts(GOLDEN / "evpn-functional" / "devices" / "leaf1" / "frr.conf"),
            *_texts(*sorted((GOLDEN / "dci-50km" / "devices").glob("*/frr.conf"))),
            UNNUMBERED.encode(),
            NUMBERED.encode(),
        ],
    ),
    "nftables": ("nftables.conf", lambda: _texts(CORPUS / "nftables.conf")),
    "dell_sonic": (
        "sonic.cli",
        lambda: [
            *_texts(GOLDEN / "three-vendors" / "devices" / "fra1-mi300x-leaf1" / "sonic.cli", CORPUS / "sonic.cli"),
            "\n".join(every_line()).encode(),
        ],
    ),
}
"""For each form of a configuration: the file's name, and its seeds."""


def _configuration(name: str) -> Parser:
    nos = {"nftables": "frr"}.get(name, name.partition(" ")[0])
    file, seeds = _FILES[name]
    seeds = cache(seeds)
    pool = cache(lambda: words_of(seeds()))
    edited = lines(pool)
    if name in {"junos", "nftables"}:
        edited = one_of((10, words(seeds)), (1, edited), (1, text))
    elif name.endswith(" xml"):
        edited = one_of((3, elements), (1, text))
    elif name.endswith(" json"):
        edited = json_value
    else:
        edited = one_of((9, edited), (1, text))
    return Parser(
        f"configuration {name}",
        lambda data, _: read_configuration(nos, {file: data.decode("utf-8", "replace")}),
        _no_form,
        seeds,
        edited,
        {"junos": 60, "junos set": 80, "eos": 80, "frr": 80, "dell_sonic": 80}.get(name, 150),
        errors=(RenderError,),
    )


def read_configuration(nos: str, texts: Mapping[str, str]) -> None:
    """Read the files of a device every way, and what is printed of them again."""
    reader = system(nos).reader
    assert reader is not None
    trees = {file: reader.parsed(file, text) for file, text in texts.items()}
    found = reader.read(texts)
    assert all(statement.line > 0 for statement in found.statements), "a statement without its line"
    assert from_document(to_document(found.config)) == found.config, "config.json does not hold it"
    printed = {file: reader.printed(file, tree.nodes) for file, tree in trees.items()}
    for file, shown in printed.items():
        reader.parsed(file, shown)
    reader.read({**texts, **{f"other-{file}": shown for file, shown in printed.items()}})


@cache
def _sonic() -> list[bytes]:
    """Some rows of each table of a leaf and of what other people's have, with its routing."""
    folder = GOLDEN / "sonic-mi355x" / "devices" / "ams4-leaf-1"
    tables = json.loads((folder / "config_db.json").read_text()) | MANAGED
    few = {name: dict(list(rows.items())[:3]) for name, rows in tables.items()}
    routing = (folder / "frr.conf").read_text().split("\n")[:60] if (folder / "frr.conf").exists() else []
    return [json.dumps({"config_db.json": few, "frr.conf": "\n".join(routing)}).encode()]


def _tables(seed: bytes, dice: Random) -> bytes:
    files = json.loads(seed)
    tables = {name: files["config_db.json"][name] for name in dice.sample(list(files["config_db.json"]), 8)}
    shown = json.dumps(odd_tree(tables, dice), indent=dice.choice((None, 1)))
    # A lone surrogate comes back from config.json as three replacement characters.
    shown = shown.replace("\\ud800", "")
    if dice.random() < 0.2:
        shown = odd_text(shown, dice)
    routing = lines(_sonic_words)(files["frr.conf"].encode(), dice).decode("utf-8", "replace")
    return encoded(json.dumps({"config_db.json": shown, "frr.conf": routing}))


@cache
def _sonic_words() -> list[str]:
    return words_of([json.loads(_sonic()[0])["frr.conf"].encode()])


def _read_sonic(data: bytes, _file: Path) -> None:
    files = json.loads(data)
    shown = files["config_db.json"]
    files["config_db.json"] = shown if isinstance(shown, str) else json.dumps(shown)
    read_configuration("sonic", {name: text for name, text in files.items() if text})


def _no_form(_data: bytes) -> bool:
    """A refused configuration has no form: its brackets or quotes are not closed."""
    return False


@cache
def _answers(nos: str) -> Mapping[str, str]:
    if nos == "server":
        network = small()
        return {"host": answer(expected_host(network, network.servers[0].name))}
    return importlib.import_module(f"tests.model.state.samples.{nos}").ANSWERS


def _has_form(name: str, nos: str, shown: str) -> bool:
    good = _answers(nos)[name].lstrip()[:1]
    try:
        if good in {"{", "["}:
            json.loads(shown)
        elif good == "<":
            ET.fromstring(shown)  # noqa: S314 - the tests' own text
    except (ValueError, ET.ParseError, RecursionError):
        return False
    return bool(shown.strip())


def _odd_answers(nos: str, _seed: bytes, dice: Random) -> bytes:
    """Answers to one to three questions, some of them to others."""
    good = _answers(nos)
    names = dice.sample(list(good), k=min(len(good), dice.choice((1, 2, 3))))
    return encoded(
        json.dumps(
            {name: _odd_answer(good[dice.choice((name, name, dice.choice(list(good))))], dice) for name in names}
        )
    )


def _odd_answer(shown: str, dice: Random) -> str:
    if shown[:1] in {"{", "["} and dice.random() < 0.7:
        return json.dumps(odd_tree(json.loads(shown), dice, top=0.5))
    if shown[:1] == "<" and dice.random() < 0.8:
        return elements(shown.encode(), dice).decode()
    if len(shown) > 4096 and dice.random() < 0.3:
        begin = dice.randrange(len(shown) - 4096)
        shown = shown[begin : begin + 4096]
    return (
        odd_text(shown, dice)
        if dice.random() < 0.5
        else lines(_answer_words)(shown.encode("utf-8", "replace"), dice).decode()
    )


@cache
def _answer_words() -> list[str]:
    return [
        *PIECES[:30],
        "up",
        "down",
        "0",
        "-1",
        "Established",
        "fe80::1",
        "10.0.0.0/33",
        "9" * 30,
        "N/A",
        "1.5",
        "a" * 300,
    ]


def _state(nos: str) -> Parser:
    def read(data: bytes, _file: Path) -> None:
        texts = json.loads(data)
        found = read_host("leaf1", texts) if nos == "server" else read_state("leaf1", nos, texts)
        hash(found.notes)

    def passes(data: bytes) -> bool:
        return any(_has_form(name, nos, shown) for name, shown in json.loads(data).items())

    return Parser(
        f"state {nos}",
        read,
        passes,
        lambda: [json.dumps(_answers(nos)).encode()],
        partial(_odd_answers, nos),
        250,
        errors=(),
    )


def _redaction(data: bytes, _file: Path) -> None:
    once = redacted(data.decode("utf-8", "replace"))
    twice = redacted(once)
    assert twice.count("\n") == once.count("\n"), "redacted twice, it has other lines"
    assert len(twice) <= len(once) + 64, "redacted twice, it is longer"


def _has_secrets(data: bytes) -> bool:
    shown = data.decode("utf-8", "replace")
    return redacted(shown) != shown


def _secret_seeds() -> list[bytes]:
    """Secrets in every form, alone and before some of each configuration."""
    return [SECRET_LINES, *(SECRET_LINES + data[:4096] for _, seeds in _FILES.values() for data in seeds())]


def _many_secrets(seed: bytes, dice: Random) -> bytes:
    """Lines of the seed among repeated pieces, which show what takes more than linear time."""
    shown = text(seed, dice).decode()
    if dice.random() < 0.1:
        piece = dice.choice(
            (*PIECES, *SECRET_LINES.decode().split("\n"), "password ", '{"password": ', "<secret>", "secret {")
        )
        shown += piece * (REPEATED // max(len(piece), 1))
    return encoded(shown)


def _pcap(seed: bytes, dice: Random) -> bytes:
    """A file of odd frames, or an odd file."""
    if dice.random() < 0.3:
        return binary(24)(seed, dice)
    frames = [binary(14)(frame, dice) for frame in dice.choices(FRAMES, k=dice.randrange(1, 12))]
    order, link = dice.choice("<>"), dice.choice((1, 1, 1, 101, 113, 276, 12))
    if dice.random() < 0.5:
        return pcap(frames, order=order, nano=dice.random() < 0.5, link=link, snap=dice.choice((20, 60, 1 << 16)))
    return pcapng(frames, order=order, resolution=dice.choice((None, 6, 9)), link=link)


def _packets(_data: bytes, file: Path) -> None:
    found = packets.summary(file)
    json.dumps(packets.document(found))
    packets.text(found, 5)


_MAGICS = (b"\xa1\xb2", b"\xd4\xc3", b"\x4d\x3c", b"\x0a\x0d", b"\x1f\x8b")

DEVICES = (
    *map(_configuration, _FILES),
    Parser("configuration sonic", _read_sonic, _no_form, _sonic, _tables, 100, errors=(RenderError,)),
    *(_state(nos) for nos in (*systems(), "server")),
    Parser(
        "redaction",
        _redaction,
        _has_secrets,
        _secret_seeds,
        _many_secrets,
        100,
        errors=(),
    ),
    Parser(
        "packets",
        _packets,
        lambda data: data[:2] in _MAGICS,
        lambda: list(FORMS.values()),
        _pcap,
        400,
        "fuzzed.pcap",
        (HostError,),
    ),
)
