"""Conversion between a device's IS-IS and OSPF settings and their statements (``statements.igp``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES
from railweave.model.config.sections import select
from railweave.model.device.model import Isis, IsisPort, Ospf, OspfPort
from railweave.model.device.port_model import far_end
from railweave.systems.frr.statements import unprinted
from railweave.systems.frr.statements.igp import Igp, OnIsis, OnOspf, RouterIsis
from railweave.systems.frr.tree import BFD_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.config.addresses import Address, Family
    from railweave.model.config.sections import SectionReader
    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.timers import Bfd
    from railweave.systems.frr.statements.igp import RouterOspf
    from railweave.systems.frr.statements.ports import Port

AREA = "underlay"
ISIS_METRIC = 10
"""The default IS-IS metric of an interface (FRR manual, ISIS)."""


def igp_of(config: DeviceConfig) -> Igp:
    """Return the IS-IS instance of a device as statements; empty if the device does not run IS-IS."""
    isis = config.isis
    return Igp(isis={AREA: RouterIsis(isis.net, isis.key)} if isis else {})


def on_isis(config: DeviceConfig, port: str) -> OnIsis | None:
    """Return the IS-IS settings of an interface, or None if IS-IS neither runs on the interface nor advertises its prefix."""
    isis = config.isis
    if isis is None:
        return None
    instances = dict.fromkeys(isis.families, AREA)
    if port == "lo" or port in isis.passive:
        return OnIsis(instances, passive=True)
    metric = next((each.metric for each in isis.ports if each.interface == port), None)
    if metric is None:
        return None
    watched = isis.bfd is not None
    return OnIsis(instances, metric=metric, key=isis.key, bfd=watched, profile=BFD_PROFILE if watched else None)


def families_of(igp: Igp, port: Port) -> set[Family]:
    """Return the address families for which IS-IS runs on an interface. References to undefined IS-IS instances are ignored.

    ``igp`` has the IS-IS statements of the device.
    """
    return {family for family, name in port.isis.instances.items() if name in igp.isis} if port.isis else set()


def on_links(igp: Igp, ports: Mapping[str, Port]) -> Iterator[tuple[Port, OnIsis]]:
    """Yield (port, its IS-IS settings) for each interface on which IS-IS has neighbors.

    ``igp`` has the IS-IS statements of the device.
    """
    return (
        (port, port.isis) for port in ports.values() if port.isis and families_of(igp, port) and not port.isis.passive
    )


def _watched(igp: Igp, ports: Mapping[str, Port]) -> set[str | None]:
    """Return the names of the BFD profiles of interfaces with IS-IS neighbors.

    The empty name means BFD without a profile. None means that an interface does not use BFD. ``igp`` has the IS-IS statements of the
    device.
    """
    return {(each.profile or "") if each.bfd or each.profile else None for _, each in on_links(igp, ports)}


def mark_isis_unknown(igp: Igp, ports: Mapping[str, Port], reader: SectionReader) -> None:
    """Mark statements about IS-IS as not understood if ``DeviceConfig`` cannot represent them.

    Such statements put an interface into an undefined instance, or set BFD that differs between interfaces. ``reader`` has the lines of the
    configuration, ``igp`` the IS-IS statements of the device.
    """
    for line in select(reader.sections, "interface **", "ip|ipv6 router isis <name>"):
        if line["name"] not in igp.isis:
            reader.mark_unknown(line)
    if len(_watched(igp, ports)) > 1:
        for line in select(reader.sections, "interface **", "isis bfd **"):
            reader.mark_unknown(line)


def isis(
    igp: Igp, ports: Mapping[str, Port], profiles: Mapping[str, Bfd], router_id: Address, loopbacks: tuple[str, ...]
) -> Isis | None:
    """Return the configuration of IS-IS (level 2, wide metrics), or None if IS-IS does not run.

    - ``igp``: the IS-IS statements of the device.
    - ``profiles``: the BFD timers of each BFD profile.
    - ``router_id``: the router id of the device.
    - ``loopbacks``: the names of loopbacks, which are left out of the passive interfaces.
    """
    if not igp.isis:
        return None
    running = list(on_links(igp, ports))
    passive = [port.name for port in ports.values() if port.isis and port.isis.passive and families_of(igp, port)]
    used = {family for port in ports.values() for family in families_of(igp, port)}
    watched = _watched(igp, ports)
    profile = watched.pop() if len(watched) == 1 else None
    keys = [each.key for each in (*(each for _, each in running), *reversed(igp.isis.values()))]
    return Isis(
        net=next((each.net for each in reversed(igp.isis.values()) if each.net), ""),
        router_id=router_id,
        ports=tuple(
            IsisPort(port.name, "", far_end(port.description)[0], ISIS_METRIC if each.metric is None else each.metric)
            for port, each in running
        ),
        passive=tuple(name for name in passive if name not in loopbacks),
        families=tuple(family for family in FAMILIES if family in used),
        maximum_ecmp=1,
        key=next((key for key in keys if key), None),
        bfd=None if profile is None else profiles.get(profile, profiles[""]),
    )


def ospf(
    router: RouterOspf | None, ports: Mapping[str, Port], router_id: Address, loopbacks: tuple[str, ...]
) -> Ospf | None:
    """Return the OSPF configuration of the default VRF, or None if OSPF does not run.

    ``router_id`` applies if OSPF sets none. ``loopbacks`` are the names of loopbacks, which are passive.
    """
    if router is None:
        return None
    running = {port.name: here for port in ports.values() if not port.vrf and (here := _on_ospf(router, port)).area}
    everywhere = router.quiet.get("default", False)
    passive = [
        name
        for name, here in running.items()
        if here.passive or router.quiet.get(name, everywhere) or name in loopbacks or name == "lo"
    ]
    made = Ospf(
        router_id=router.router_id or router_id,
        ports=tuple(
            OspfPort(
                name, "", far_end(ports[name].description)[0], here.area, here.metric or unprinted("ospf.ports.metric")
            )
            for name, here in running.items()
            if name not in passive
        ),
        passive=tuple(passive),
        maximum_ecmp=router.width or unprinted("bgp.maximum_ecmp"),
    )
    return made if running else None


def _on_ospf(router: RouterOspf, port: Port) -> OnOspf:
    """Return the OSPF settings of an interface, with its area.

    The area is that of the interface's own statement. If there is none, it is the area of the first ``network`` statement
    that contains the interface's address.
    """
    here = port.ospf or OnOspf()
    areas = [each.area for each in router.networks if any(each.prefix.holds(held.address) for held in port.addresses)]
    return here if here.area or not areas else replace(here, area=areas[0])


def mark_ospf_unknown(reader: SectionReader) -> None:
    """Mark all statements of OSPF as not understood.

    The caller does this in two cases: OSPF runs on no interface, or the device also has BGP sessions on its links.
    ``DeviceConfig`` can represent only one of the two protocols as the underlay. ``reader`` has the lines of the configuration.
    """
    for section in reader.sections:
        if section.line == "router ospf":
            reader.mark_unknown(section)
        for line in section.body or ():
            if section.line == "router ospf" or (
                section.line.startswith("interface ") and line.line.startswith("ip ospf ")
            ):
                reader.mark_unknown(line)
