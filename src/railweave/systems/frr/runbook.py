"""The checks of FRRouting, in ``vtysh``; what FRR does not do (ports, QoS) is the Linux host's and is not here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems import runbook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.device.expected import ExpectedRouting, Route
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

CONFIGURATION = "frr.conf"
FILTERS = "nftables.conf"


def load(config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
    """Words and commands that put the configuration on the switch."""
    words = f"Copy `devices/{config.name}/{CONFIGURATION}` to the switch as `{config.name}.conf`, then in its shell:"
    commands = (
        f"install -o frr -g frr -m 640 {config.name}.conf /etc/frr/frr.conf",
        "vtysh -C -f /etc/frr/frr.conf",
        "systemctl restart frr",
    )
    if config.protection is None:
        return [(words, commands)]
    more = f"Copy `devices/{config.name}/{FILTERS}` there too: it filters what is for the host itself, from now on and after a restart:"
    filters = (f"install -m 644 {FILTERS} /etc/nftables.conf", "nft -f /etc/nftables.conf", "systemctl enable nftables")
    return [(words, commands), (more, filters)]


def identity(config: DeviceConfig, serial: str) -> runbook.Check:
    """The release."""
    return runbook.Check(
        "Release",
        ("show version",),
        (f"FRRouting {config.release} or newer", *((f"serial number {serial}",) if serial else ())),
    )


def checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    """Every check after the configuration is loaded, in the order in which one depends on another."""
    made = [_ports(config), _modules(network, config), _lldp(config), *routing_checks(network, config, expected)]
    if config.gateways:
        made.append(_gateways(config))
    return made


def routing_checks(
    network: Network, config: DeviceConfig, expected: ExpectedRouting, names: Mapping[str, str] | None = None
) -> list[runbook.Check]:
    """What ``vtysh`` is asked about routing, on every system whose routing is FRRouting's; ``names``: what VRFs are called there."""
    made: list[runbook.Check] = []
    bgp = config.bgp
    if bgp is not None:
        found = expected.sessions
        made.append(
            runbook.Check(
                "BGP sessions",
                tuple(f"show bgp {one} unicast summary" for one in bgp.families),
                (
                    f"local AS {bgp.asn}, router id {bgp.router_id}, {counted(len(found), 'neighbor')}, all established",
                    (
                        "State/PfxRcd counts what the import policy lets in; the last column counts prefixes that have this "
                        "session's port among their next hops"
                    ),
                    *runbook.of_both_families(bgp),
                ),
                runbook.SESSION_HEADER,
                runbook.session_rows(found),
            )
        )
        if bgp.bfd:
            timers = f"{bgp.bfd.minimum_interval} ms x {bgp.bfd.multiplier}, down after {bgp.bfd.detection_ms():,} ms"
            made.append(
                runbook.Check(
                    "BFD",
                    ("show bfd peers brief",),
                    (
                        f"{counted(runbook.with_bfd(config, found), 'session')} up",
                        f"{timers}{runbook.other_timers(config)}",
                    ),
                )
            )
        made += _routes(expected.underlay)
    if config.isis is not None:
        count = counted(len(config.isis.ports), "neighbor")
        made.append(runbook.Check("IS-IS", ("show isis neighbor", "show isis route"), (f"{count}, level 2, state Up",)))
    return [*made, *tenant_checks(network, config, expected, names)]


def tenant_checks(
    network: Network, config: DeviceConfig, expected: ExpectedRouting, names: Mapping[str, str] | None = None
) -> list[runbook.Check]:
    """Return the checks of the overlay in ``vtysh``; ``names`` is what VRFs are called there if not as their tenants."""
    made = runbook.overlay_session_checks(config, "show bgp l2vpn evpn summary")
    if not config.vrfs:
        return made
    first = config.vrfs[0]
    name = (names or {}).get(first.name, first.name)
    commands = (
        "show vrf vni",
        "show evpn vni",
        *(f"show bgp vrf {name} {family} unicast" for family in first.families()),
    )
    made.append(runbook.tenants_check(network, config, expected.tenants, commands, names=names))
    return made + runbook.external_session_checks(config, "show bgp vrf {vrf} {family} unicast summary", names)


def _ports(config: DeviceConfig) -> runbook.Check:
    points = (f"{counted(len(config.interfaces), 'port')} up", "names and neighbors as in the port table above")
    return runbook.Check("Ports", ("show interface brief",), points)


def _modules(network: Network, config: DeviceConfig) -> runbook.Check:
    first = config.interfaces[0].name if config.interfaces else "PORT"
    commands = (f"ethtool -m {first}", f"ethtool --include-statistics --show-fec {first}", f"ethtool -S {first}")
    return runbook.modules_check(
        network, config, "Modules and error correction, each port (in the shell)", commands, ""
    )


def _lldp(config: DeviceConfig) -> runbook.Check:
    count = len(config.fabric_interfaces())
    points = (
        f"{counted(count, 'switch', 'switches')} seen, each on the port of the port table above",
        "FRR has no LLDP: lldpd runs beside it",
    )
    return runbook.Check("Cabling, by LLDP (in the shell)", ("lldpcli show neighbors",), points)


def _routes(examples: Sequence[Route]) -> list[runbook.Check]:
    if not examples:
        return []
    return [
        runbook.Check(
            "Routes to another leaf",
            (
                *(f"show bgp {one.prefix.family} unicast {one.prefix}" for one in runbook.by_family(examples)),
                *runbook.first_of_each(examples),
            ),
            (f"prefixes of {examples[0].leaf}, with exactly these ports as next hops of the best path",),
            ("Prefix", "Path color", "Next hops"),
            tuple((one.prefix, one.color, ", ".join(one.ports) or "none") for one in examples),
        )
    ]


def _gateways(config: DeviceConfig) -> runbook.Check:
    rows = [
        (one.name, address, prefix)
        for one in config.gateways
        for address, prefix in zip(one.addresses, one.prefixes, strict=True)
    ]
    advertised = any(one.advertisements for one in config.gateways)
    commands = ("show interface brief", *(("show ipv6 nd ra-interfaces",) if advertised else ()))
    points = (
        "the gateway addresses below",
        *(("each interface below sends router advertisements",) if advertised else ()),
    )
    return runbook.Check("Server prefixes", commands, points, ("Interface", "Gateway", "Prefix"), tuple(rows))
