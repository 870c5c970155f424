"""Mistakes that people make in configurations of switches, planted in built folders: ``verify`` names each at its line.

No row is drawn: each is a mistake by itself. ``tests.mutants`` draws faults over all statements.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from railweave.api import load
from railweave.outputs.folder import verify as verifying
from railweave.outputs.folder.steps import build
from tests.conftest import EXAMPLES
from tests.mutants.kinds import NAMED_BY, Kind

if TYPE_CHECKING:
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

COLORS, TENANTS = "h100-rlb", "evpn-functional"
"""Path colors with every management service; tenants on EVPN with a protected control plane."""


class Built(NamedTuple):
    """A folder and its design."""

    folder: Path
    network: Network

    def findings(self) -> list[Finding]:
        return verifying.verify(self.network, folder=self.folder).findings


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> object:
    @cache
    def made(nos: str, example: str) -> Built:
        here = tmp_path_factory.mktemp(f"{nos}-{example}")
        for file in EXAMPLES.glob(f"{example}.*"):
            shutil.copy(file, here)
        file = here / f"{example}.yaml"
        if example == TENANTS:
            file.write_text(file.read_text().replace("\nmanagement: {", "\nmanagement: {security: {}, "))
            assert "security" in file.read_text()
        build(file, here / "out", device=[f":{nos}"])
        return Built(here / "out", load(here / "out"))

    return made


@pytest.fixture(autouse=True)
def no_validators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of others read the same files, and say nothing about the design."""
    monkeypatch.setattr(verifying, "validate_all", lambda *_, **__: [])


@dataclass(frozen=True)
class Planted:
    """``old`` becomes ``new`` in a file of a switch, where ``old`` is first after the headers ``under``, each after the one before.

    The finding has one of the rules of ``kind``. Its line is that on which ``new`` begins; of a statement that is gone, that of the
    last header. Added statements stand behind ``old``: then ``new`` begins with it, and the line is that of the first added one.
    """

    file: str
    under: tuple[str, ...]
    old: str
    new: str
    kind: Kind
    also: tuple[str, ...] = ()
    """Other rules that name the mistake."""

    def planted(self, text: str) -> tuple[str, int]:
        """Return the text with the mistake, and the line at which it is named."""
        place = header = 0
        for words in self.under:
            header = text.index(words, place)
            place = header + len(words)
        place = text.index(self.old, place)
        kept = len(self.old) if self.new.startswith(self.old) else 0
        at = header if not self.new.strip() else place + kept
        wrong = text[:place] + self.new + text[place + len(self.old) :]
        lines = self.new[kept:] if self.new.strip() else ""
        blank = len(lines) - len(lines.lstrip("\n"))
        return wrong, text.count("\n", 0, at) + 1 + blank


def of(nos: str, example: str, device: str, *rows: Planted) -> list[tuple[str, str, str, Planted]]:
    return [(nos, example, f"devices/{device}/{row.file}", row) for row in rows]


JUNOS, EOS, SONIC, DELL, FRR = "junos.conf", "eos.conf", "config_db.json", "sonic.cli", "frr.conf"
LEAF, PEERS = "stripe1-leaf1", "    bgp {"
PLANTED = [
    *of(
        "junos", COLORS, LEAF,
        Planted(JUNOS, ("et-0/0/1:0 {",), "mtu 9216", "mtu 1500", Kind.MTU),
        Planted(JUNOS, ("et-0/0/2:0 {",), "description", "disable;\n        description", Kind.PORT),
        Planted(JUNOS, ("et-0/0/3 {",), "speed 400g", "speed 200g", Kind.PORT),
        Planted(JUNOS, ("et-0/0/16:1 {",), "members vn2", "members vn3", Kind.VLAN),
        Planted(JUNOS, ("    irb {",), "address fc00:1:1:2::1/64", "address fc00:1:1:2::1/48", Kind.GATEWAY),
        Planted(JUNOS, ("classifiers {", "dscp-ipv6 roce", "class NO-LOSS"), "code-points 011010", "code-points 011000", Kind.DSCP_MAP),
        Planted(JUNOS, ("forwarding-classes {",), "class CNP queue-num 3", "class CNP queue-num 4", Kind.QUEUE_MAP),
        Planted(JUNOS, ("schedulers {", "no-loss {"), "percent 85", "percent 58", Kind.SCHEDULER),
        Planted(JUNOS, ("schedulers {", "no-loss {"), "            explicit-congestion-notification;\n", "", Kind.ECN),
        Planted(JUNOS, ("drop-profiles {",), "fill-level [ 55 90 ]", "fill-level [ 5 90 ]", Kind.ECN),
        Planted(JUNOS, ("class-of-service {", "    interfaces {", "et-0/0/1:0 {"), "            congestion-notification-profile pfc-50m;\n", "", Kind.PFC),
        Planted(JUNOS, ("class-of-service {", "    interfaces {", "et-0/0/0:0 {"), "congestion-notification-profile pfc-50m", "congestion-notification-profile pfc-10m", Kind.PFC, ("headroom-differs",)),
        Planted(JUNOS, ("pfc-50m {", "input {"), "cable-length 50", "cable-length 5", Kind.HEADROOM),
        Planted(JUNOS, ("pfc-50m {",), "watchdog-action drop", "watchdog-action forward", Kind.WATCHDOG),
        Planted(JUNOS, ("policy-statement to-spines {", "term no-transit {"), "reject", "accept", Kind.TERM),
        Planted(JUNOS, ("prefix-list local {",), "        fd00::/16;\n", "", Kind.PREFIX),
        Planted(JUNOS, ("community blue {",), "color:0:2", "color:0:3", Kind.COLOR),
        Planted(JUNOS, (PEERS, "group spine-red {"), "            import from-spines;\n", "", Kind.POLICY),
        Planted(JUNOS, (PEERS, "group spine-blue {"), "type external;", "type external;\n            passive;", Kind.SESSION, ("statement-not-designed",)),
        Planted(JUNOS, (PEERS, "group spine-orange {"), "multiplier 3", "multiplier 30", Kind.BFD),
        Planted(JUNOS, (PEERS, "group spine-green {"), "local-as 4200001001", "local-as 4200001010", Kind.AS),
        Planted(JUNOS, (PEERS, "route fc00:1:1:3::/64 {"), "color red", "color blue", Kind.COLOR),
        Planted(JUNOS, ("router-advertisement {", "irb.2 {"), "default-lifetime 1800", "default-lifetime 0", Kind.RA),
        Planted(JUNOS, ("    ntp {",), "172.20.0.3", "172.20.0.33", Kind.TIME),
    ),
    *of(
        "junos", TENANTS, "leaf1",
        Planted(JUNOS, (PEERS, "group overlay {"), "neighbor 10.255.0.7", "neighbor 10.255.0.77", Kind.SESSION),
        Planted(JUNOS, (PEERS, "group overlay {", "neighbor 10.255.0.8"), "peer-as 4200000003", "peer-as 4200000004", Kind.AS),
        Planted(JUNOS, ("routing-instances {", "tenant-1 {"), "vrf-target target:64512:20001", "vrf-target target:64512:20002", Kind.TARGET),
        Planted(JUNOS, ("routing-instances {", "tenant-1 {"), "vni 20001", "vni 20010", Kind.VNI),
        Planted(JUNOS, ("lo0 {", "family inet {"), "input control-plane-v4", "output control-plane-v4", Kind.PROTECTION),
        Planted(JUNOS, ("filter control-plane-v4 {", "term bgp-overlay-v4 {"), "accept", "discard", Kind.PROTECTION),
    ),
    *of(
        "eos", COLORS, LEAF,
        Planted(EOS, ("interface Ethernet2/1",), "mtu 9202", "mtu 1500", Kind.MTU),
        Planted(EOS, ("interface Ethernet3/1",), "   mtu", "   shutdown\n   mtu", Kind.PORT),
        Planted(EOS, ("interface Ethernet4/1",), "   service-profile ROCE\n", "", Kind.QOS_PORT),
        Planted(EOS, ("interface Ethernet1/1",), "speed 400g-4", "speed 100g-1", Kind.PORT),
        Planted(EOS, (), "qos map dscp 48 to traffic-class 7", "qos map dscp 48 to traffic-class 3", Kind.CNP_QUEUE),
        Planted(EOS, ("qos profile ROCE",), "priority-flow-control priority 3 no-drop", "priority-flow-control priority 4 no-drop", Kind.PFC),
        Planted(EOS, ("uc-tx-queue 3",), "minimum-threshold 10", "minimum-threshold 1", Kind.ECN),
        Planted(EOS, ("route-map to-spines permit 20",), "4200000001:1:2", "4200000001:1:3", Kind.COLOR),
        Planted(EOS, (), "route-map to-spines deny 50", "route-map to-spines permit 50", Kind.TERM),
        Planted(EOS, ("route-map from-red permit 10",), "community path-red", "community path-rde", Kind.COLOR),
        Planted(EOS, ("router bgp 4200001001",), "   neighbor spine-blue route-map from-blue in\n", "", Kind.POLICY),
        Planted(EOS, ("router bgp 4200001001",), "neighbor spine-red route-map to-spines out", "neighbor spine-red route-map to-spines in", Kind.POLICY),
        Planted(EOS, ("router bgp 4200001001",), "   neighbor spine-green bfd\n", "   neighbor spine-green bfd\n   neighbor spine-green shutdown\n", Kind.SESSION),
        Planted(EOS, ("router bgp 4200001001",), "maximum-paths 4 ecmp 4", "maximum-paths 1 ecmp 1", Kind.ECMP),
        Planted(EOS, ("router bgp 4200001001",), "redistribute connected route-map connected", "redistribute connected", Kind.REDISTRIBUTION),
        Planted(EOS, (), "priority-flow-control pause watchdog action drop", "priority-flow-control pause watchdog action errdisable", Kind.WATCHDOG),
        Planted(EOS, (), "ip name-server vrf MGMT 172.20.0.2", "ip name-server vrf MGMT 172.20.0.20", Kind.TIME),
    ),
    *of(
        "eos", TENANTS, "leaf2",
        Planted(EOS, ("vrf tenant-1\n      rd",), "route-target import evpn 64512:20001", "route-target import evpn 64512:20002", Kind.TARGET),
        Planted(EOS, ("interface Vxlan1",), "vxlan vrf tenant-1 vni 20001", "vxlan vrf tenant-1 vni 20010", Kind.VNI),
        Planted(EOS, ("interface Loopback0",), "10.255.0.2/32", "10.255.0.1/32", Kind.LOOPBACK),
        Planted(EOS, ("interface Vlan3",), "vrf tenant-1", "vrf tenant-2", Kind.VRF),
        Planted(EOS, ("interface Vlan4",), "ipv6 nd ra lifetime 1800", "ipv6 nd ra lifetime 0", Kind.RA),
        Planted(EOS, ("router bgp",), "neighbor 10.255.0.8 remote-as 4200000003", "neighbor 10.255.0.8 remote-as 4200000002", Kind.AS),
        Planted(EOS, ("address-family evpn",), "      neighbor overlay activate\n", "", Kind.SESSION, ("overlay-differs",)),
    ),
    *of(
        "sonic", COLORS, LEAF,
        Planted(SONIC, ('"PORT": {', '"Ethernet8": {'), '"mtu": "9202"', '"mtu": "9000"', Kind.MTU),
        Planted(SONIC, ('"PORT": {', '"Ethernet16": {'), '"admin_status": "up"', '"admin_status": "down"', Kind.PORT),
        Planted(SONIC, ('"PORT_QOS_MAP": {', '"Ethernet8": {'), '"pfc_enable": "3"', '"pfc_enable": "4"', Kind.PFC),
        Planted(SONIC, ('"DSCP_TO_TC_MAP": {',), '"26": "3"', '"26": "0"', Kind.DSCP_MAP),
        Planted(SONIC, ('"TC_TO_QUEUE_MAP": {',), '"6": "6"', '"6": "3"', Kind.QUEUE_MAP, ("pfc-differs",)),
        Planted(SONIC, ('"SCHEDULER": {', '"no-loss": {'), '"weight": "85"', '"weight": "8"', Kind.SCHEDULER),
        Planted(SONIC, ('"WRED_PROFILE": {',), '"green_max_threshold": "2097000"', '"green_max_threshold": "20970000"', Kind.ECN),
        Planted(SONIC, ('"PFC_WD": {', '"Ethernet16": {'), '"action": "drop"', '"action": "alert"', Kind.WATCHDOG),
        Planted(SONIC, ('"BUFFER_PG": {', '"Ethernet8|3": {'), "50m_profile", "10m_profile", Kind.HEADROOM),
        Planted(SONIC, ('"VLAN_MEMBER": {',), "Vlan2|Ethernet132", "Vlan2|Ethernet136", Kind.VLAN),
        Planted(SONIC, ('"VLAN_INTERFACE": {',), "fc00:1:1:3::1/64", "fc00:1:3:1::1/64", Kind.GATEWAY),
        Planted(FRR, (), "bgp large-community-list standard path-blue seq 5 permit 4200000001:1:2", "bgp large-community-list standard path-blue seq 5 permit 4200000001:1:4", Kind.COLOR),
        Planted(FRR, ("route-map from-green permit 10",), "set local-preference 200", "set local-preference 20", Kind.COLOR),
        Planted(FRR, ("router bgp",), " neighbor spine-red bfd profile fabric\n", "", Kind.BFD),
        Planted(FRR, ("router bgp",), "neighbor Ethernet16 interface remote-as 4200000003", "neighbor Ethernet16 interface remote-as internal", Kind.AS),
        Planted(FRR, ("address-family ipv6 unicast",), "neighbor spine-red route-map to-spines out", "neighbor spine-red route-map to-spine out", Kind.POLICY),
        Planted(FRR, ("router bgp",), " bgp fast-convergence\n", " bgp fast-convergence\n bgp shutdown\n", Kind.SESSION),
    ),
    *of(
        "dell_sonic", TENANTS, "leaf1",
        Planted(DELL, ("interface Eth1/2\n",), "mtu 9202", "mtu 9000", Kind.MTU),
        Planted(DELL, ("interface Eth1/3\n",), " no shutdown\n", " shutdown\n", Kind.PORT),
        Planted(DELL, ("interface Eth1/4\n",), "priority-flow-control priority 3", "priority-flow-control priority 4", Kind.PFC),
        Planted(DELL, ("interface Eth1/5\n",), " qos-map dscp-tc ROCE\n", "", Kind.QOS_PORT),
        Planted(DELL, ("qos map dscp-tc ROCE",), "dscp 48 traffic-class 6", "dscp 46 traffic-class 6", Kind.DSCP_MAP),
        Planted(DELL, ("qos scheduler-policy ROCE", " queue 6"), "type strict", "type dwrr", Kind.SCHEDULER),
        Planted(DELL, ("interface Vlan 5\n",), "ip vrf forwarding Vrf-tenant-1", "ip vrf forwarding Vrf-tenant-2", Kind.VRF),
        Planted(DELL, ("interface Vlan 6\n",), " ip vrf forwarding Vrf-tenant-1\n", "", Kind.VRF),
        Planted(DELL, ("interface vxlan vtep",), "map vni 20001 vrf", "map vni 20002 vrf", Kind.VNI),
        Planted(DELL, (), "bgp community-list standard from-spine-evpn permit 64512:2 any", "bgp community-list standard from-spine-evpn permit 64512:3 any", Kind.MARK),
        Planted(DELL, ("neighbor interface Eth1/6\n",), "remote-as 4200000003", "remote-as 4200000002", Kind.AS),
        Planted(DELL, ("neighbor 10.255.0.8\n",), "peer-group overlay\n", "peer-group overlay\n  shutdown\n", Kind.SESSION),
        Planted(DELL, ("peer-group overlay\n", "address-family l2vpn evpn\n"), "   activate\n", "", Kind.SESSION),
        Planted(DELL, ("vrf Vrf-tenant-1\n router-id", "address-family l2vpn evpn"), "  advertise ipv6 unicast\n", "", Kind.VNI),
        Planted(DELL, (" profile fabric\n",), "receive-interval 1000", "receive-interval 100", Kind.BFD),
        Planted(DELL, ("ipv6 access-list from-servers-v6",), "seq 10 discard", "seq 10 permit", Kind.PROTECTION),
        Planted(DELL, ("ip access-list control-plane-v4",), "host 10.255.0.7", "host 10.255.0.70", Kind.PROTECTION),
    ),
    *of(
        "frr", TENANTS, "leaf1",
        Planted(FRR, ("interface lo\n",), "10.255.0.1/32", "10.255.0.3/32", Kind.LOOPBACK),
        Planted(FRR, ("interface irb.5 vrf tenant-1\n",), " no ipv6 nd suppress-ra\n", "", Kind.RA),
        Planted(FRR, (), "ip prefix-list own seq 5 permit 10.255.0.1/32", "ip prefix-list own seq 5 deny 10.255.0.1/32", Kind.PREFIX),
        Planted(FRR, (), "route-map from-spines deny 20", "route-map from-spines permit 20", Kind.TERM),
        Planted(FRR, ("router bgp",), "neighbor 10.255.0.9 remote-as 4200000004", "neighbor 10.255.0.9 remote-as 4200000040", Kind.AS),
        Planted(FRR, ("router bgp",), "neighbor overlay update-source 10.255.0.1", "neighbor overlay update-source lo", Kind.SESSION),
        Planted(FRR, ("router bgp",), " neighbor et-3 peer-group spine-underlay\n", "", Kind.SESSION),
        Planted(FRR, ("address-family l2vpn evpn\n",), "  advertise-all-vni\n", "", Kind.VNI),
        Planted(FRR, (" vrf tenant-1\n bgp router-id",), "route-target export 64512:20001", "route-target export 64512:20011", Kind.TARGET),
        Planted(FRR, ("address-family ipv4 unicast\n",), "  maximum-paths 8\n", "  maximum-paths 8\n  distance bgp 255 255 255\n", Kind.SESSION, ("statement-not-designed",)),
        Planted(FRR, (" profile overlay\n",), "detect-multiplier 3", "detect-multiplier 255", Kind.BFD),
        Planted(FRR, ("vrf tenant-1\n",), "vni 20001", "vni 20011", Kind.VNI),
    ),
]  # fmt: skip
"""100 mistakes, 17 or more of each system but FRR, which has 12."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nos", "example", "path", "row"), PLANTED, ids=[f"{nos}:{row.new.strip()[:40]}" for nos, *_, row in PLANTED]
)
def test_a_mistake_is_named_at_its_line(built: object, nos: str, example: str, path: str, row: Planted) -> None:
    made: Built = built(nos, example)  # type: ignore[operator]
    before = {(one.id, one.file, one.line) for one in made.findings()}
    file = made.folder / path
    text = file.read_text()
    wrong, line = row.planted(text)
    try:
        file.write_text(wrong)
        found = made.findings()
    finally:
        file.write_text(text)
    new = [(one.id, one.file, one.line) for one in found if (one.id, one.file, one.line) not in before]
    rules = {*NAMED_BY[row.kind], *row.also}
    assert [one for one in new if one[0] in rules and one[1:] == (path, line)], (line, new)
    # A statement that becomes another is also missing, at most: in the section that it stood in.
    assert len({at for id_, where, at in new if where == path and id_ != "text-differs"} - {0, line}) <= 1


def test_every_system_has_its_mistakes() -> None:
    count = Counter(nos for nos, *_ in PLANTED)
    assert set(count) == {"junos", "eos", "sonic", "dell_sonic", "frr"}
    assert sum(count.values()) >= 52
    assert min(count.values()) >= 10
