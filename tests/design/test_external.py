"""Routers outside the fabric: what the design refuses of them, with the line of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from railweave.errors import InputError
from railweave.model.device.build import device_config
from railweave.systems.junos import render as junos
from tests.conftest import designed
from tests.two_stripes import text

if TYPE_CHECKING:
    from pathlib import Path

LINES = """
addressing: {server_pool: "fd20::/32"}
tenants:
  a:
    members: ["H100-01"]
    external:
      r: {asn: 65500, links: [{leaf: stripe1-leaf1, port: et-0/0/31, prefix: "2001:db8::/127"}]}
"""
FIRST = 14
"""The line of the file that the external router is on."""


def refused(folder: Path, *changes: tuple[str, str]) -> str:
    lines = LINES
    for old, new in changes:
        assert old in lines
        lines = lines.replace(old, new)
    with pytest.raises(InputError) as caught:
        designed(folder, text(lines))
    return str(caught.value)


def test_a_tenant_without_a_prefix_of_the_link_s_family(tmp_path: Path) -> None:
    said = refused(tmp_path, ('"2001:db8::/127"', "192.0.2.0/31"))
    assert "tenant 'a' has no IPv4 prefix to advertise" in said
    assert f"fabric.yaml:{FIRST}" in said


def test_junos_accepts_nothing_where_nothing_is_listed(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, text(LINES))
    config = device_config(network, "stripe1-leaf1")
    vrfs = tuple(
        replace(one, external=tuple(replace(peer, advertise=()) for peer in one.external)) for one in config.vrfs
    )
    lines = junos.files(replace(config, vrfs=vrfs))["junos.set"].splitlines()
    policy = "set policy-options policy-statement to-a-r"
    assert [one for one in lines if one.startswith(policy)] == [f"{policy} term rest then reject"]


LINK = "links: [{leaf: stripe1-leaf1, port: et-0/0/31, prefix: "


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("asn: 65500", "asn: ASN-OF-leaf", "which stripe1-leaf1 has, too"),
        ("asn: 65500", "asn: ASN-OF-spine", "which spine1 has, too"),
        ("asn: 65500", 'asn: 65500, accept: ["0.0.0.0/0"]', "0.0.0.0/0 is not IPv6"),
        ("asn: 65500", 'asn: 65500, advertise: ["10.0.0.0/8"]', "10.0.0.0/8 is not IPv6"),
        ('"2001:db8::/127"', '"2001:db8::/127", speed: 0G', "more than 0"),
        (
            '"2001:db8::/127"}',
            '"2001:db8::/127"}, {leaf: stripe1-leaf1, port: et-0/0/31, prefix: 192.0.2.0/31}',
            "on other ports",
        ),
        (
            '"2001:db8::/127"}',
            '"2001:db8::/127", vlan: 7}, {leaf: stripe1-leaf1, port: et-0/0/31, prefix: "2001:db8::2/127", vlan: 7}',
            "has two links to external router r with VLAN 7",
        ),
        (
            '"2001:db8::/127"}]}',
            '"2001:db8::/127"}]}\n      r2: {asn: 65500, ' + LINK + '"2001:db8::2/127"}]}',
            "links to two routers need two ports",
        ),
        (
            '"2001:db8::/127"}',
            '"2001:db8::/127", vlan: 7}, {leaf: stripe1-leaf1, port: et-0/0/31, prefix: "2001:db8::2/127"}',
            "one of them has no VLAN",
        ),
    ],
)
def test_it_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    network, _ = designed(tmp_path, text(LINES))
    for role, name in (("leaf", "stripe1-leaf1"), ("spine", "spine1")):
        new = new.replace(f"ASN-OF-{role}", str(network.switch(name).asn))
    told = refused(tmp_path, (old, new))
    assert said in told
    assert any(f"fabric.yaml:{line}:" in told for line in (FIRST, FIRST + 1))
