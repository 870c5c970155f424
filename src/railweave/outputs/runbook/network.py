"""The runbook of one switch, with the commands of its operating system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.expect.device import expected_routing
from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.pages.table import Table, columns
from railweave.systems import system
from railweave.systems.forms import forms_of
from railweave.systems.runbook import Check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.model.network.devices import Cable, End, Fabric, Switch
    from railweave.model.network.model import Network
    from railweave.systems.protocol import Runbook


def block(lines: Iterable[str]) -> list[str]:
    """Return the lines of a Markdown code block that contains these lines."""
    return ["```", *lines, "```"]


def day_two(switch: Switch) -> list[str]:
    """Return the section about later operations on one switch. In the commands, ``FABRIC`` is a placeholder for the fabric file.

    Each command in the section writes a plan, which `deploy apply` carries out.
    """
    name, installs = switch.name, system(switch.nos).upgrade
    leaf = switch.role == "leaf"
    lines = [
        f"New from its box, {name} can fetch by itself what lets `railweave deploy apply` reach it: `railweave deploy ztp FABRIC -o DIR --url URL`.",
        "",
        "Each of these shows a plan and changes nothing; `railweave deploy apply PLAN --access access.yaml` carries it out.",
        "",
        *block(
            (
                f"railweave deploy drain FABRIC {name}{' --force' if leaf else ''} --access access.yaml -o drain.json",
                f"railweave deploy undrain FABRIC {name} --access access.yaml -o back.json",
                *(
                    _upgrade(name, by_release=installs.BY_RELEASE, leaf=leaf)
                    if installs and not installs.BY_HAND
                    else ()
                ),
                f"railweave deploy replace FABRIC {name} --serial SERIAL --access access.yaml -o new.json",
            )
        ),
        "",
    ]
    if leaf:
        lines.append("It is the only way to its servers' NICs: take their servers from jobs first.")
    if system(switch.nos).transaction is not None:
        lines.append("Broken on purpose, with a timer that restores it: `railweave deploy campaign FABRIC SCENARIO`.")
    if installs and installs.BY_HAND:
        lines.append(f"Another release: {installs.BY_HAND}.")
    return lines


def _upgrade(name: str, *, by_release: bool, leaf: bool) -> tuple[str, ...]:
    image = "" if by_release else " --image FILE"
    force = " --force" if leaf else ""
    return (
        f"railweave deploy upgrade FABRIC --release RELEASE{image} --only {name}{force} --access access.yaml -o upgrade.json",
    )


TITLE = "First of its kind only"
HEADER = ("Statement", "Look for", "Sources", "What is known")


def first_switch(network: Network, config: DeviceConfig) -> list[Check]:
    """Return a list with one check if the switch is the first of its kind: the operator checks the effect of some statements.

    Switches are of the same kind if they have the same fabric, role, model, system, release and kinds of neighbors. If the first switch
    accepts its configuration, the other switches of this kind will accept theirs. The list is empty for a switch that is not the first of
    its kind, and if no statement needs this check.
    """
    if not _is_first(network, config.name):
        return []
    forms = forms_of(config.nos)
    rows = forms.to_look_at(system(config.nos).lines(config)) if forms.forms else []
    if not rows:
        return []
    points = (
        "load this switch before the others of its role and model: a line that it refuses is shown while the file is loaded",
        "each statement works as its row says; if not, stop, and put what the switch takes into `extra:`",
    )
    table = tuple((f"`{row.text}`", row.look_for, row.cited(), row.known or "–") for row in rows)
    return [Check(TITLE, (), points, HEADER, table)]


def _is_first(network: Network, name: str) -> bool:
    device = network.switch(name)
    kind, outside = _kind(device), _neighbors(network, name)
    return name == next(
        switch.name
        for switch in network.switches
        if _kind(switch) == kind and _neighbors(network, switch.name) == outside
    )


def _kind(switch: Switch) -> tuple[str, ...]:
    return (switch.fabric, switch.role, switch.model, switch.nos, switch.release)


def _neighbors(network: Network, name: str) -> frozenset[str]:
    """Return the kinds of neighbors to which a switch has cables: ``server``, ``fabric`` (a switch) and ``external`` (an external router)."""
    outside = {"external"} if any(link.leaf == name for *_, link in network.external_links()) else set[str]()
    return frozenset({cable.kind for cable in network.cables_of(name)} | outside)


def document(network: Network, config: DeviceConfig, routes: Routes, system: Runbook) -> str:
    """Return the runbook of a switch as Markdown. ``system`` has the commands and checks of the switch's operating system."""
    switch = network.switch(config.name)
    fabric = network.fabric(switch.fabric)
    lines = [f"# {config.name}", "", _about(network, switch, fabric), ""]
    lines += Table(columns("", ""), _identity(switch, config, system)).to_markdown()
    lines += [
        "",
        "Every value below follows from the design and holds once the whole fabric is up, with a server on every leaf."
        if not network.not_active
        else _absent(network, switch),
        "",
        "## Order",
        "",
    ]
    lines += _order(network, switch, fabric)
    lines += ["", "## Ports", "", *Table(PORTS, _ports(network, config, fabric)).to_markdown()]
    lines += ["", "## Before loading", "", *_check(1, system.identity(config, switch.serial))]
    lines += ["## Load", "", *_load(config, system)]
    lines += ["## After loading", ""]
    checks = [
        *first_switch(network, config),
        *system.checks(network, config, expected_routing(network, config, routes)),
    ]
    for place, check in enumerate(checks, 2):
        lines += _check(place, check)
    lines += ["## Cable labels", "", *_labels(network, config)]
    lines += ["", "## Before and after", "", *day_two(switch)]
    return "\n".join(lines) + "\n"


def _about(network: Network, switch: Switch, fabric: Fabric) -> str:
    place = f"of fabric {fabric.name}, network {network.name}"
    if switch.role == "dci":
        return f"A router between sites, at {switch.site}, {place}."
    if switch.role != "leaf":
        return f"A {switch.role} {place}."
    rails = f"rail {switch.rails[0]}" if len(switch.rails) == 1 else "rails " + ", ".join(map(str, switch.rails))
    return f"The leaf of {rails} in {switch.stripe}, {place}."


def _absent(network: Network, switch: Switch) -> str:
    """Return a paragraph about the parts of the network that ``status:`` marks as absent, and about their effect on the values of this page."""
    status = next((inactive.status for inactive in network.not_active if inactive.name == switch.name), "")
    here = f"**This switch is {status}**: until its status is active, its tables are shown empty. " if status else ""
    return (
        f"{here}Every value below follows from the design and holds once all of the fabric is up but what its file says is "
        f"absent: {network.absent_words()}. Sessions with what is absent are down, and their prefixes are shown as 0."
    )


def _identity(switch: Switch, config: DeviceConfig, system: Runbook) -> list[tuple[str, str]]:
    return [
        ("Model", switch.model),
        ("Serial number", switch.serial or "not in the inventory"),
        ("System", f"{switch.nos} {switch.release}"),
        ("Management", f"{switch.management_address}, gateway {switch.management_gateway}"),
        ("AS, router id", f"{switch.asn}, {switch.router_id}"),
        ("Configuration", f"`devices/{config.name}/{system.CONFIGURATION}`"),
    ]


def _order(network: Network, switch: Switch, fabric: Fabric) -> list[str]:
    """Return the lines about the order in which the fabric is brought up, from the top tier down, and the switch's position in it.

    The last line says which checks are possible before the other switches and the servers are up.
    """
    mine = [switch for switch in network.switches if switch.fabric == fabric.name]
    roles = list(dict.fromkeys(member.role for member in reversed(mine)))  # the list of switches begins with leaves
    lines = [f"1. {_management(network, switch)}"]
    for number, role in enumerate(roles, 2):
        alike = [member.name for member in mine if member.role == role]
        names = {"leaf": ("leaf", "leaves"), "dci": ("router between sites", "routers between sites")}
        word = counted(len(alike), *names.get(role, (role, "")))
        here = f" **This switch is number {alike.index(switch.name) + 1} of them.**" if role == switch.role else ""
        lines.append(
            f"{number}. {word[0].upper()}{word[1:]}, {alike[0]} first; their order among each other is free.{here}"
        )
    lines.append(f"{len(lines) + 1}. The GPU servers, one stripe at a time: `hosts/`.")
    if switch.role == "leaf" and len(roles) > 1:
        now = (
            "Leaves come after the switches above them: sessions, BFD and LLDP towards switches can be checked at once."
        )
    elif len(roles) > 1:
        now = "Its neighbors come up later: repeat the checks from LLDP on when the last one is there."
    elif fabric.interconnect:
        now = "Its neighbors are at other sites: repeat the checks from LLDP on when the last one is there."
    else:
        now = "It has no switch for a neighbor: what is checked at once is the switch itself."
    return [*lines, "", f"{now} {_until_servers(switch, fabric)}"]


def _management(network: Network, switch: Switch) -> str:
    """Return a sentence about the management network, and about the time, name and log servers that the configuration refers to."""
    wanted = network.management
    servers = [
        (word, ", ".join(map(str, given)))
        for word, given in (
            ("time", wanted.ntp),
            ("names", wanted.dns),
            ("logs", [server.host for server in wanted.syslog]),
        )
    ]
    there = ", ".join(f"{word} {hosts}" for word, hosts in servers if hosts)
    missing = " and ".join(word for word, hosts in servers if not hosts)
    line = f"The management network {wanted.pool} with its gateway {switch.management_gateway}"
    line += f", and its servers: {there}" if there else ""
    return line + (f". The fabric file names no server for {missing}." if missing else ".")


def _until_servers(switch: Switch, fabric: Fabric) -> str:
    """Return a paragraph about the values that the switch cannot show until servers are up.

    A server gateway stays down until a server port behind it is up, so leaves do not yet advertise server prefixes.
    """
    reason = "a gateway is down until a server port behind it is up"
    if not fabric.own_links:
        reason = catalog().systems[switch.nos].notes.gateway or reason
    ports = "server ports down and " if switch.role == "leaf" else ""
    absent = (
        "no server prefix in any table" if fabric.overlay else "0 in place of the prefix counts, no server prefixes"
    )
    return (
        f"Servers come last, and {reason}, so a leaf without a server advertises no server prefix. Until every leaf has a "
        f"server, expect {ports}{absent}; repeat the checks of prefixes, routes and servers after the servers' step."
    )


PORTS = columns("Port", "To", "Its port", "Speed", "Optic here", "Lanes", "Length", "Path color")


def _ends(network: Network, config: DeviceConfig) -> list[tuple[Interface, Cable, End, End]]:
    """Return (port, cable, near end, far end) for each cabled port of a switch, in port order. Ports to external devices are left out."""
    ends: list[tuple[Interface, Cable, End, End]] = []
    for port in config.interfaces:
        if port.outside:
            continue
        cable = network.cable(port.link)
        here, there = (cable.a, cable.b) if cable.a.device == config.name else (cable.b, cable.a)
        ends.append((port, cable, here, there))
    return sorted(ends, key=lambda end: (end[2].physical or 0, end[2].channel or 0))


def _ports(network: Network, config: DeviceConfig, fabric: Fabric) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (
            port.name,
            there.device,
            there.port,
            f"{cable.speed_gbps}G",
            here.optic,
            here.lanes,
            f"{cable.length_m:g} m{'' if cable.measured else ' planned'}",
            "–" if cable.color is None else fabric.color_name(cable.color),
        )
        for port, cable, here, there in _ends(network, config)
    ]
    outside = [interface for interface in config.interfaces if interface.outside]
    return [
        *rows,
        *(
            (outside_port.name, outside_port.peer, "–", f"{outside_port.speed_gbps}G", "–", "–", "–", "–")
            for outside_port in outside
        ),
    ]


def _load(config: DeviceConfig, system: Runbook) -> list[str]:
    lines = [
        f"Where `devices/{config.name}/{system.CONFIGURATION}` holds `<secret:NAME>`, build with `--secrets FILE` first.",
        "",
    ]
    for words, commands in system.load(config):
        lines += [words, "", *(block(commands) if commands else ()), *([""] if commands else ())]
    return lines


def _check(number: int, check: Check) -> list[str]:
    lines = [f"### {number}. {check.title}", "", *([*block(check.commands), ""] if check.commands else [])]
    lines += [f"- [ ] {point}" for point in check.points if point]
    if check.rows:
        # Numbers are written as the switch shows them: without commas.
        rows = [[str(cell) for cell in row] for row in check.rows]
        lines += ["", *Table(columns(*check.header), rows).to_markdown()]
    return [*lines, ""]


def _labels(network: Network, config: DeviceConfig) -> list[str]:
    """Return lines with the labels of cable ends. Servers have no runbook, so the lines also have the labels of the servers' ends."""
    near: list[str] = []
    far: list[str] = []
    for _, cable, here, _ in _ends(network, config):
        near_label, other = cable.labels if here is cable.a else reversed(cable.labels)
        near.append(near_label)
        if cable.kind == "server":
            far.append(other)
    words = "This end, the other end, the length; the two ends are the cable's name in cabling.csv."
    lines = [f"One per line: {counted(len(near), 'label')} for the ends at this switch. {words}", "", *block(near)]
    if far:
        lines += ["", f"{counted(len(far), 'label')} for the servers' ends:", "", *block(far)]
    return lines


def runbook(network: Network, config: DeviceConfig, routes: Routes) -> str:
    """Return the runbook of one switch as Markdown; empty if its operating system has no runbook."""
    template = system(config.nos).runbook
    return document(network, config, routes, template) if template is not None else ""
