"""The support matrix says what renderers do."""

from __future__ import annotations

from functools import cache

import pytest

from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.outputs.rendering.support import FEATURES, Cell, matrix
from railweave.systems import system, systems
from tests.conftest import ROOT, example

LINES = {
    "ports": "/ speed 400g",
    "vlans": "switchport access vlan",
    "slaac": "ipv6 nd prefix",
    "ra-interval": "ipv6 nd ra interval",
    "unnumbered-bgp": "neighbor interface",
    "peer-as-list": "peer-filter",
    "path-color": "set local-preference",
    "bfd": "bfd interval",
    "ecmp": "maximum-paths",
    "dlb-flowlet": "load-balance distribution dynamic",
    "qos": "qos map dscp",
    "scheduler": "bandwidth percent",
    "pfc": "no-drop",
    "pfc-watchdog": "pause watchdog",
    "headroom": "ingress headroom",
    "ecn": "random-detect ecn minimum",
    "buffer-monitor": "queue-monitor length",
    "evpn-type-5": "vxlan vrf",
    "lldp": "lldp management-address",
    "logins": "username",
    "ntp": "ntp server",
    "syslog": "logging vrf",
    "snmp": "snmp-server community",
    "netconf": "management api netconf",
    "eapi": "management api http-commands",
    "grpc": "management api gnmi",
    "isis": "isis enable",
    "networks": "ip address virtual",
    "external": "remote-as 65000",
    "proxy-arp": "ip proxy-arp",
    "macsec": "mac security profile",
    "control-plane": "access-group control-plane-v4 in",
}
"""What EOS has in its configuration for a feature that the matrix says it has; two need no line."""


@cache
def asked(nos: str) -> tuple[list[DeviceConfig], list[DeviceConfig]]:
    colors, tenants = example("h100-rlb"), example("evpn-server-isolation")
    return [device_config(colors, "stripe1-leaf1", nos)], [device_config(tenants, "stripe1-leaf1", nos)]


@pytest.mark.parametrize("nos", systems())
def test_no_cell_is_blank(nos: str) -> None:
    cells = matrix(nos, *asked(nos))
    assert list(cells) == [one.id for one in FEATURES]
    for one in cells.values():
        assert one.kind == "native" or one.words
        assert "|" not in one.words


def test_what_eos_has_is_in_its_configuration() -> None:
    cells = matrix("eos", *asked("eos"))
    have = {name for name, cell in cells.items() if cell.kind != "not expressible"}
    assert have - LINES.keys() == {"extra", "fast-reroute"}
    for one in FEATURES:
        if one.id in have and one.id in LINES:
            config = one.asked(asked("eos")[one.of == "tenants"][0])
            assert any(LINES[one.id] in line for line in system("eos").lines(config)), one.id


def test_what_a_renderer_says_is_missing_is_not_native() -> None:
    cells = matrix("eos", *asked("eos"))
    assert cells["ra-routes"] == Cell("not expressible", "EOS's router advertisements have no such options")
    assert {name for name, cell in cells.items() if cell.kind == "not expressible"} == {
        "ra-routes",
        "ipv6-over-ipv4",
        "path-color-dpf",
        "selective-dlb",
        "global-load-balancing",
        "dlb-per-packet",
        "spray",
        "hash",
        "buffer-partition",
        "color-endpoints",
    }


def test_the_page_has_every_system_and_feature() -> None:
    text = (ROOT / "docs" / "support-matrix.md").read_text()
    assert all(f"(`{nos}`)" in text for nos in systems())
    assert all(f"| {one.title} |" in text for one in FEATURES)
