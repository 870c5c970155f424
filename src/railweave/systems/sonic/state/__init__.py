"""The state of a SONiC switch: its databases, its Linux and its FRRouting are asked, and what the answers say.

Tables and fields are those of SONiC's own public test data (sonic-utilities, ``tests/mock_tables``). Every value of a database is a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Alarm, DeviceState, Identity
from railweave.model.state.lldpd import lldp
from railweave.model.state.question import CONFIGURATION, Question
from railweave.systems.frr.state import routing_questions, vtysh
from railweave.systems.frr.state.bgp import bfd_sessions, sessions
from railweave.systems.frr.state.isis import adjacencies
from railweave.systems.frr.state.linux import clock, forwarding_questions, ipv6_neighbors, links, not_forwarding
from railweave.systems.frr.state.routes import evpn, routes, vnis, vrfs
from railweave.systems.sonic.state.counters import pfc, pools, queues, watchdog
from railweave.systems.sonic.state.database import tables
from railweave.systems.sonic.state.ports import interfaces, optics, with_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.values import Answers

NOT_READ = {
    "advertising": "`show ipv6 nd ra-interfaces` of FRRouting is text without numbers",
    "commit": "SONiC does not record who changed its configuration",
    "dynamic load balancing": "its state has a design document and no published table",
}


def _database(name: str, database: str, keys: str, *, optional: bool = False) -> Question:
    return Question(name, "json", {"ssh": f"sonic-db-dump -n {database} -k '{keys}' -y"}, optional)


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
    return [
        Question("version", "text", {"ssh": "show version"}),
        Question("clock", "text", {"ssh": "date -u +%s"}),
        _database("ports", "APPL_DB", "PORT_TABLE:*"),
        _database("ports-state", "STATE_DB", "PORT_TABLE|*", optional=True),
        _database("optics", "STATE_DB", "TRANSCEIVER_*"),
        _database("health", "STATE_DB", "SYSTEM_READY|*", optional=True),
        _database("counter-names", "COUNTERS_DB", "COUNTERS_*_MAP"),
        _database("counters", "COUNTERS_DB", "COUNTERS:*"),
        _database("watermarks", "COUNTERS_DB", "USER_WATERMARKS:*", optional=True),
        Question("lldp-neighbors", "json", {"ssh": "docker exec lldp lldpctl -f json"}, optional=True),
        Question("addresses", "json", {"ssh": "ip -j address"}),
        Question("neighbors", "json", {"ssh": "ip -j -6 neigh"}),
        *forwarding_questions(),
        *routing_questions(config, asked, tables=tables),
        Question(CONFIGURATION, "json", {"ssh": "sonic-cfggen -d --print-data"}),
        vtysh(f"{CONFIGURATION}-frr", "show running-config", "text"),
    ]


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    names = tables(answers.tree("counter-names"))
    counters = tables(answers.tree("counters"))
    watermarks = tables(answers.tree("watermarks"))
    return DeviceState(
        answers.device,
        "sonic",
        frozenset(answers.texts),
        identity=_identity(answers),
        clock=clock(answers),
        alarms=_alarms(answers),
        neighbors=lldp(answers.tree("lldp-neighbors")),
        interfaces=with_addresses(
            interfaces(tables(answers.tree("ports")), tables(answers.tree("ports-state")), names, counters),
            links(answers.tree("addresses")),
        ),
        optics=optics(tables(answers.tree("optics")), tables(answers.tree("ports"))),
        ipv6_neighbors=ipv6_neighbors(answers.tree("neighbors")),
        bgp=sessions(answers.tree("bgp"), answers.tree("bgp-neighbors")),
        bfd=bfd_sessions(answers.tree("bfd")),
        isis=adjacencies(answers.tree("isis")),
        routes=routes(answers),
        not_forwarding=not_forwarding(answers),
        vrfs=vrfs(answers.tree("vrfs"), answers.tree("evpn-vnis")),
        vnis=vnis(answers.tree("vnis")),
        evpn=evpn(answers.tree("evpn-prefixes"), answers.tree("evpn-macs")),
        queues=queues(names, counters, watermarks),
        pfc=pfc(names, counters),
        pools=pools(names, watermarks),
        watchdog=watchdog(names, counters),
        notes=answers.notes,
    )


_LINES = {"model": "HwSKU", "serial": "Serial Number", "version": "SONiC Software Version"}


def _identity(answers: Answers) -> Identity | None:
    text = answers.text("version")
    if text is None:
        return None
    found = {
        field: re.search(rf"^{label}:[ \t]*(\S[^\n]{{0,100}})", text, re.MULTILINE) for field, label in _LINES.items()
    }
    if not any(found.values()):
        answers.note("version", "", "no line with `SONiC Software Version:` is in it")
        return None
    words = {field: one[1].strip() if one else None for field, one in found.items()}
    return Identity(
        model=words["model"], serial=words["serial"], version=(words["version"] or "").removeprefix("SONiC.") or None
    )


def _alarms(answers: Answers) -> tuple[Alarm, ...] | None:
    """That the system is not ready, where it says so."""
    ready = tables(answers.tree("health"))
    if ready is None:
        return None
    states = [(key, one.one("Status").text()) for key, one in ready.items()]
    return tuple(Alarm(None, f"{key}: {state}") for key, state in states if state not in {None, "UP"})
