"""The checks of Enterprise SONiC by Dell.

Dell's own manuals are behind a login. Commands are those of ``sonic-cli`` that the public test library of sonic-net/sonic-mgmt sends
to Enterprise SONiC (``spytest/apis``), and ``show running-configuration`` where it sends none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems import runbook
from railweave.systems.dell_sonic.tree import LOSSLESS_BUFFERS
from railweave.systems.sonic.render.names import vrf_names
from railweave.systems.sonic.render.qos import lossless
from railweave.systems.sonic.runbook import port_mtus

if TYPE_CHECKING:
    from railweave.model.device.expected import ExpectedRouting
    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.network.model import Network

CONFIGURATION = "sonic.cli"
PREPARATION = "prepare.cli"
RUNNING = "show running-configuration | no-more"


def load(config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
    """Words and commands that put the commands on the switch: first what restarts it, then the rest."""
    user = next(iter(config.management.users), "admin")
    return [
        (
            (
                "Do this on the console: the management address changes. The commands add to what the switch has, so begin with "
                "a switch as delivered. Enterprise SONiC has no commit that takes itself back."
            ),
            (),
        ),
        *_preparation(config),
        (
            (
                f"Type those of `devices/{config.name}/{CONFIGURATION}` in `sonic-cli`, and stop at the first line that is refused: "
                "the last one saves them. This shows the result:"
            ),
            (RUNNING,),
        ),
        ("From another terminal:", (f"ssh {user}@{config.management_address.address}",)),
    ]


def _preparation(config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
    """The first file; with lossless buffers it asks and restarts the switch by itself, and the runbook waits for that."""
    file = f"`devices/{config.name}/{PREPARATION}`"
    if config.qos is None or not lossless(config.qos):
        return [
            (
                f"Type the lines of {file} in `sonic-cli`, then `exit` and enter it again: names of ports take effect in the next session.",
                (),
            )
        ]
    return [
        (
            (
                f"Type the lines of {file} in `sonic-cli`. The last one, `{LOSSLESS_BUFFERS}`, asks `[Proceed y/N]:`: answer `y`. "
                "The switch then restarts by itself. Type nothing more in that session: it would be lost."
            ),
            (),
        ),
        (
            (
                f"Wait for the login prompt, which takes minutes, and log in again. This must show `{LOSSLESS_BUFFERS}`. If it does not, "
                "type that line once more before anything of the next file:"
            ),
            ("show running-configuration | grep lossless",),
        ),
    ]


def identity(config: DeviceConfig, serial: str) -> runbook.Check:
    """Model, release and serial number."""
    points = [f"model {config.model}, Enterprise SONiC {config.release} or newer"]
    points += [f"serial number {serial}"] if serial else []
    points.append("another release: install this one first, as Dell's manual says, and look again")
    return runbook.Check("Model and release (in `sonic-cli`)", ("show version",), tuple(points))


def checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    """Every check after the configuration is loaded, in the order in which one depends on another."""
    made = [_ports(config), _modules(network, config), _lldp(config)]
    if config.bgp is not None:
        made += _bgp(config, expected)
    made += _tenants(network, config, expected)
    if config.gateways:
        made.append(_gateways(config))
    if config.qos is not None:
        made += _qos(config, config.qos)
    return made


def _ports(config: DeviceConfig) -> runbook.Check:
    points = (
        f"{counted(len(config.interfaces), 'port')} up, up, each described with its neighbor in the port table",
        f"MTU {', '.join(map(str, port_mtus(config)))} on every port, without the Ethernet header",
    )
    return runbook.Check("Ports", ("show interface status",), points)


def _modules(network: Network, config: DeviceConfig) -> runbook.Check:
    commands = ("show interface status", RUNNING)
    made = runbook.modules_check(
        network, config, "Modules and error correction, all ports", commands, " (port-fec in RESTCONF)"
    )
    said = "no public document names a command for light and error rates: `?` after `show interface` lists what the release has"
    return runbook.Check(made.title, made.commands, (said, *made.points), made.header, made.rows)


def _lldp(config: DeviceConfig) -> runbook.Check:
    points = (
        f"{counted(len(config.fabric_interfaces()), 'switch', 'switches')} seen, each on the port of the port table above",
        "a neighbor on another port is a cable in the wrong port: move it before going on",
    )
    return runbook.Check("Cabling, by LLDP", ("show lldp table",), points)


def _bgp(config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    bgp = config.bgp
    if bgp is None:
        return []
    found = expected.sessions
    points = [
        f"local AS {bgp.asn}, router id {bgp.router_id}, {counted(len(found), 'neighbor')}, all established",
        (
            "the prefixes received are those that the import policy lets in; the last column counts prefixes that have this "
            "session's port among their next hops"
        ),
    ]
    if bgp.bfd:
        timers = f"{bgp.bfd.minimum_interval} ms x {bgp.bfd.multiplier}, down after {bgp.bfd.detection_ms():,} ms"
        points.append(f"BFD runs on each session, {timers}: a session that flaps loses it first")
    points += runbook.of_both_families(bgp)
    summaries = tuple(f"show bgp {one} unicast summary" for one in bgp.families)
    made = [
        runbook.Check("BGP sessions", summaries, tuple(points), runbook.SESSION_HEADER, runbook.session_rows(found))
    ]
    examples = expected.underlay
    if examples:
        rows = tuple((one.prefix, one.color, ", ".join(one.ports) or "none") for one in examples)
        families = dict.fromkeys(one.prefix.family for one in examples)
        asked = tuple(f"show {'ipv6' if one == 'ipv6' else 'ip'} route" for one in families)
        words = (f"prefixes of {examples[0].leaf}, with exactly these ports as next hops",)
        made.append(runbook.Check("Routes to another leaf", asked, words, ("Prefix", "Path color", "Next hops"), rows))
    return made


def _tenants(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    """Return the checks of the overlay; VRFs are only in the configuration."""
    made = runbook.overlay_session_checks(config, "show bgp l2vpn evpn summary")
    if not config.vrfs:
        return made
    first, names = config.vrfs[0], vrf_names(config)
    words = ("ipv6" if family == "ipv6" else "ip" for family in first.families())
    commands = (*(f"show {word} route vrf {names[first.name]}" for word in words), RUNNING)
    made.append(runbook.tenants_check(network, config, expected.tenants, commands, names=names))
    return made + runbook.external_session_checks(config, "show bgp {family} unicast vrf {vrf} summary", names)


def _gateways(config: DeviceConfig) -> runbook.Check:
    rows = tuple(
        (f"Vlan{one.vlan}" if one.vlan else one.port, address, prefix)
        for one in config.gateways
        for address, prefix in zip(one.addresses, one.prefixes, strict=True)
    )
    asked = (f"show {'ipv6' if rows[0][1].family == 'ipv6' else 'ip'} route", RUNNING)
    points = ("each prefix below is connected, by the interface below, once a server is connected",)
    return runbook.Check("Server prefixes", asked, points, ("Interface", "Gateway", "Prefix"), rows)


def _qos(config: DeviceConfig, qos: QosConfig) -> list[runbook.Check]:
    port = _in_commands(config.interfaces[0].name)
    points = (f"bound to {counted(len(qos.ports), 'port')}; DSCPs not named below are {qos.default_class}",)
    asked = (f"show qos interface {port}", RUNNING)
    made = [runbook.Check("Classes, ECN, PFC", asked, points, runbook.CLASS_HEADER, runbook.class_rows(qos))]
    paused = lossless(qos)
    if not paused:
        return made
    priorities = ", ".join(map(str, paused))
    counters = (
        f"show queue counters interface {port}",
        "show qos interface Eth all priority-flow-control statistics queue",
    )
    seen = [
        "idle: no errors and no drops",
        f"under load: packets in queue {priorities}, none dropped",
        "no public document says where PFC frames are counted; the second command shows the PFC watchdog's counters",
    ]
    if qos.watchdog:
        seen.append("the watchdog has detected nothing")
    return [*made, runbook.Check("Counters, before and under load", counters, tuple(seen))]


def _in_commands(port: str) -> str:
    """A port as ``show`` takes it: ``Eth 1/1/1``."""
    return re.sub(r"^([A-Za-z]+)(?=\d)", r"\1 ", port)
