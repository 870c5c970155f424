"""Parts of which not every release has all, tenants among them, and what is said of those that a device's release lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.systems.sonic.branches import FRR, MASTER, NEWEST, OLDEST, branch, known, lacking, newer
from railweave.systems.sonic.render import rules, system
from railweave.systems.sonic.render.names import transit_vlan, vrf_names
from railweave.systems.sonic.render.ports import vlans
from railweave.systems.sonic.render.system import access
from railweave.systems.sonic.tables import Row, Tables, merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


TUNNEL, NVO = "vtep", "nvo"


def overlay(config: DeviceConfig) -> Tables:
    """``VRF``, ``VXLAN_TUNNEL`` and its map, ``VXLAN_EVPN_NVO``, the VLAN of each VRF's VNI, and VNIs of VLANs."""
    found = config.overlay
    if found is None or not config.vrfs or not found.endpoints:
        return {}
    names = vrf_names(config)
    numbers = {vrf.name: transit_vlan(config, vrf.name) for vrf in config.vrfs}
    tables: Tables = {
        "VRF": {names[vrf.name]: {"vni": str(vrf.vni)} for vrf in config.vrfs},
        "VXLAN_TUNNEL": {TUNNEL: {"src_ip": found.endpoints[0].address}},
        "VXLAN_EVPN_NVO": {NVO: {"source_vtep": TUNNEL}},
        "VXLAN_TUNNEL_MAP": {},
        "VLAN": {},
        "VLAN_INTERFACE": {},
    }
    for vrf in config.vrfs:
        name = f"Vlan{numbers[vrf.name]}"
        mapped: Row = {"vlan": name, "vni": str(vrf.vni)}
        tables["VXLAN_TUNNEL_MAP"][f"{TUNNEL}|map_{vrf.vni}_{name}"] = mapped
        tables["VLAN"][name] = {"vlanid": str(numbers[vrf.name]), "description": f"VNI of {vrf.name}"}
        tables["VLAN_INTERFACE"][name] = {"vrf_name": names[vrf.name]}
    for one in config.mac_vrf.vlans if config.mac_vrf else ():
        name = f"Vlan{one.vlan}"
        tables["VXLAN_TUNNEL_MAP"][f"{TUNNEL}|map_{one.vni}_{name}"] = {"vlan": name, "vni": str(one.vni)}
    return tables


_TRIED_FRR = (10, 3)
"""The oldest FRRouting that has read rendered files (docs/validators.md)."""

LOST = {
    "BANNER_MESSAGE": "who logs in sees no `banner`",
    "DNS_OPTIONS": "the switch asks for names without its `domain`",
    "FLEX_COUNTER_TABLE": "marks of ECN are not counted queue by queue",
    "GNMI": "gNMI listens in every VRF, ports of servers and of the fabric included; where `control_plane` is given it is limited by source",
    "SAG": rules.NO_ANYCAST.says,
    "SERIAL_CONSOLE": "an idle console session is not ended (`login.idle`)",
    "SSH_SERVER": "an idle SSH session is not ended (`login.idle`)",
    "VLAN_INTERFACE": rules.NO_ANYCAST.says,
}
"""The loss with a table that an older release lacks, or with its newest field."""

_GRAVE = {"GNMI": rules.RELEASE_LACKS, "SAG": rules.NO_ANYCAST, "VLAN_INTERFACE": rules.NO_ANYCAST}


def designed(config: DeviceConfig) -> Tables:
    """The tables that the newest release would have, but for ports and their quality of service, which every release has."""
    found: Tables = {}
    for one in (
        system.metadata(config),
        system.features(config),
        system.management(config),
        system.services(config),
        access(config),
        system.counters(config),
        system.hashing(config),
        vlans(config),
        overlay(config),
    ):
        merge(found, one)
    return found


def gaps(config: DeviceConfig) -> Iterator[Finding]:
    """Tables and fields that the release lacks, and whether it is one that the platform has."""
    name, release, on = config.name, config.release, branch(config.release)
    if not known(release):
        whose = "master" if on == MASTER else f"branch {on}"
        what = f"release {release} is of no branch that has been read ({OLDEST} to {NEWEST}, and master): rendered as for {whose}"
        yield rules.RELEASE.finding(name, what)
    found: dict[str, tuple[str, str, str]] = {}
    for table, row, field, first in lacking(designed(config), on):
        place = f"{table} {field}" if field else f"{table}|{row}" if row else table
        found.setdefault(LOST[table], (table, place, first))
    for lost, (table, place, first) in found.items():
        since = "is on master alone, and so in releases after it" if first == MASTER else f"is there from {first} on"
        rule = _GRAVE.get(table, rules.RELEASE_MINOR)
        yield rule.finding(name, f"release {release} lacks {place}, which {since}: {lost}")
    frr = FRR.get(on, "")
    if frr and tuple(int(part) for part in frr.split(".")[:2]) < _TRIED_FRR:
        yield rules.OLD_FRR.finding(
            name, f"release {release} routes by FRR {frr}: frr.conf is read by 10.3 and newer in our checks"
        )
    yield from _platform(config)


def _platform(config: DeviceConfig) -> Iterator[Finding]:
    """Yield a finding if the release lacks the model's platform."""
    model = catalog().switches.get(config.model)
    first = model.first_releases.get("sonic") if model else None
    if model is None or first is None or model.sonic is None:
        return
    where = f"platform {model.sonic.platform}, HwSKU {model.sonic.hwsku}"
    if not first.release:
        yield rules.NO_PLATFORM.finding(config.name, f"no published branch of SONiC has {config.model} ({where})")
    elif known(config.release) and newer(first.release, branch(config.release)):
        what = f"release {config.release} has no {config.model} ({where}): it is there from {first.release} on"
        yield rules.NO_PLATFORM.finding(config.name, what)
