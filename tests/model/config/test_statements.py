"""Statement tables: what a row says holds in every direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

from tests.systems.test_statement_rows import TABLES

from railweave.model.config.compare import compare
from railweave.model.config.row_changes import with_rows
from railweave.model.config.section_tree import LineRules, section_tree
from railweave.model.config.sections import SectionReader, flat, parse
from railweave.model.config.statements import Codec, Statements, each, fixed, ignored, line, part
from railweave.model.config.tree import Disruption


def _number(text: str) -> int:
    return int(text)


NUMBER = Codec(r"\d{1,3}", _number, shown_as="0-999")
WORD = Codec(r"[a-z]+", shown_as="word")


@dataclass(frozen=True)
class Port:
    speed: int | None = None
    shut: bool = False
    tags: tuple[int, ...] = ()


@dataclass(frozen=True)
class Clock:
    zone: str = ""
    server: str | None = None


@dataclass(frozen=True)
class Device:
    name: str = ""
    ports: dict[str, Port] = field(default_factory=dict[str, Port])
    clock: Clock | None = None
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class Server:
    host: str
    key: str


@dataclass(frozen=True)
class Servers:
    servers: tuple[Server, ...] = ()


TABLE = Statements(
    Device,
    (
        line("hostname <name>", "manual", usual="", name=WORD),
        fixed("logging on", "manual", when=lambda device: bool(device.users)),
        each("user <it>", "users", "manual", it=WORD),
        each(
            "port <port>",
            "ports",
            "manual",
            Port,
            (
                line("speed <speed>[ fec <_fec>]", "manual", speed=NUMBER, _fec=WORD),
                line("shutdown", "manual", sets={"shut": True}),
                line("no shutdown", "manual", sets={"shut": False}, prints=False),
                each("tag <it>", "tags", "manual", it=NUMBER),
                ignored("description[ <_text>]", "a name", _text=WORD),
            ),
            by="port",
            port=WORD,
        ),
        part(
            "clock",
            Clock,
            (
                line("zone <zone>", "manual", usual="", zone=WORD),
                line(
                    "server <server>",
                    "manual",
                    also=("server <server>{ prefer| version <_version>}",),
                    server=WORD,
                    _version=NUMBER,
                ),
            ),
            "clock",
            "manual",
        ),
    ),
)
DEVICE = Device("leaf", {"a": Port(100, shut=True, tags=(1, 2)), "b": Port()}, Clock("utc", "ntp"), ("ann", "bob"))
TEXT = """\
hostname leaf
logging on
user ann
user bob
port a
 speed 100
 shutdown
 tag 1
 tag 2
port b
clock
 zone utc
 server ntp
"""


def read(text: str) -> tuple[Device, list[str]]:
    sections = parse(text)
    reader = SectionReader(sections)
    device = TABLE.read(sections, reader)
    return device, [path for _, path, understood in reader.lines() if not understood]


def test_a_value_is_printed_in_the_order_of_the_rows() -> None:
    assert flat(TABLE.printed(DEVICE)) == flat(parse(TEXT))


def test_what_is_printed_is_read() -> None:
    assert read(TEXT) == (DEVICE, [])


def test_what_no_row_takes_is_unknown_by_itself() -> None:
    device, unknown = read("port a\n speed 100\n speed fast\n mtu 9216\nvlan 7\n")
    assert device.ports == {"a": Port(100)}
    assert unknown == ["port a / speed fast", "port a / mtu 9216", "vlan 7"]


def test_lines_of_one_key_describe_one_element() -> None:
    device, unknown = read("port a\n speed 100\nport b\n tag 3\nport a\n tag 1\n no shutdown\n")
    assert (device.ports, unknown) == ({"a": Port(100, tags=(1,)), "b": Port(tags=(3,))}, [])


def test_options_come_in_any_order_and_may_be_missing() -> None:
    for options in ("", " prefer", " version 4 prefer", " prefer version 4"):
        assert read(f"clock\n server ntp{options}\n") == (Device(clock=Clock(server="ntp")), [])
    assert read("port a\n speed 100 fec rs\n")[0].ports == {"a": Port(100)}
    assert read("clock\n server ntp iburst\n")[1] == ["clock / server ntp iburst"]


def test_a_statement_that_says_nothing_is_taken() -> None:
    assert read("port a\n description uplink\n description\n") == (Device(ports={"a": Port()}), [])


def test_the_grammar_has_the_limits() -> None:
    forms = {form.text: form.accepts for _, form, _ in TABLE.commands()}
    assert forms["user <word>"].fullmatch("user ann")
    assert not forms["user <word>"].fullmatch("user Ann")
    assert list(forms) == ["hostname <word>", "logging on", "user <word>", "port <word>", "clock"]


@dataclass(frozen=True)
class Peer:
    asn: int | None = None
    up: bool = True


@dataclass(frozen=True)
class Router:
    peers: dict[str, Peer] = field(default_factory=dict[str, Peer])


FLAT = Statements(
    Router,
    (
        each(
            "neighbor <peer>",
            "peers",
            "manual",
            Peer,
            (line("remote-as <asn>", "manual", asn=NUMBER), line("shutdown", "manual", sets={"up": False})),
            by="peer",
            flat=True,
            peer=WORD,
        ),
    ),
)


def test_statements_may_have_the_form_of_their_element_in_front() -> None:
    """``neighbor NAME ...`` of FRRouting, ``set interfaces NAME ...`` of Junos."""
    router = Router({"a": Peer(65, up=False), "b": Peer(66)})
    lines = ["neighbor a remote-as 65", "neighbor a shutdown", "neighbor b remote-as 66"]
    assert flat(FLAT.printed(router)) == lines
    sections = parse("\n".join([*lines, "neighbor b weight 5", "neighbor b remote-as x"]))
    reader = SectionReader(sections)
    assert FLAT.read(sections, reader) == router
    assert [path for _, path, understood in reader.lines() if not understood] == [
        "neighbor b weight 5",
        "neighbor b remote-as x",
    ]
    forms = [form.accepts for _, form, _ in FLAT.commands()]
    assert [any(form.fullmatch(line) for form in forms) for line in (*lines, "neighbor b weight 5")] == [True] * 3 + [
        False
    ]


GOES = Disruption("", "the port", "it goes", "manual", ("remove",))
CHANGING = Statements(
    Device,
    (
        line("hostname <name>", "manual", usual="", changed="removed", name=WORD),
        each(
            "port <port>",
            "ports",
            "manual",
            Port,
            (
                line("speed <speed>", "manual", disrupts=(), speed=NUMBER),
                line("shutdown", "manual", since="2.0", sets={"shut": True}),
            ),
            by="port",
            port=WORD,
        ),
    ),
    disrupts=(GOES,),
)


def test_rows_say_how_lines_change_and_what_that_disrupts() -> None:
    rules = with_rows(LineRules((), (), (), ()), [CHANGING])
    old, new = (
        section_tree(parse(text), rules)
        for text in ("hostname a\nport x\n speed 1\n shutdown\n", "hostname b\nport x\n speed 2\n")
    )
    change = compare(old, new)
    assert change.commands == [
        "port x",
        " no shutdown",
        "exit",
        "no hostname a",
        "hostname b",
        "port x",
        " speed 2",
        "exit",
    ]
    assert [(step.path, row.what) for step, row in change.disrupts] == [
        ("hostname a", "the port"),
        ("port x / shutdown", "the port"),
    ]
    assert compare(new, section_tree(parse("hostname b\nport x\n"), rules)).commands == ["port x", " no speed", "exit"]


def test_rows_say_which_release_has_a_statement() -> None:
    sections = parse("hostname a\nport x\n speed 1\n shutdown\n")
    assert CHANGING.releases == {"2.0"}
    assert [*CHANGING.since(sections, {"2.0"})] == [("port x / shutdown", "2.0")]
    assert [*CHANGING.since(sections, {"1.0"})] == []


def test_a_line_without_a_field_that_has_no_default_is_unknown() -> None:
    table = Statements(Servers, (each("server <host>[ key <key>]", "servers", "manual", Server, host=WORD, key=WORD),))
    sections = parse("server a key b\nserver c\n")
    reader = SectionReader(sections)
    assert table.read(sections, reader) == Servers((Server("a", "b"),))
    assert [path for _, path, taken in reader.lines() if not taken] == ["server c"]


def test_sections_have_the_fields_without_default_in_their_header() -> None:
    """Otherwise a section without the line that has one could not be built."""

    def missing(table: Statements[Any]) -> Iterator[str]:
        for row in table.rows:
            made = row.made
            if made is not None and is_dataclass(made) and row.rows is not None:
                usual = {each.name for each in fields(made) if MISSING is each.default is each.default_factory}
                for form in (*row.forms, *row.also) or ("",):
                    yield from (f"{form}: {name}" for name in usual - row.sets.keys() if f"<{name}>" not in form)
                yield from missing(Statements(made, row.rows))

    assert [name for table in TABLES.values() for name in missing(table)] == []


def test_a_line_that_is_passed_over_is_irrelevant() -> None:
    sections = parse("port 1\n speed 10\n description x\n colour red\n")
    reader = SectionReader(sections)
    TABLE.read(sections, reader)
    assert [known for _, _, known in reader.lines()] == ["understood", "understood", "irrelevant", ""]
