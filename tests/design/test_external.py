"""Routers outside the fabric: what the design refuses of them, with the line of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from railweave.device.build import device_config
from railweave.errors import InputError
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
