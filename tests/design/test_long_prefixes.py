"""Long IPv6 prefixes of a short pool: the bits between are dealt to fields of 32 bits at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.design.addresses.server_prefixes import MOST_BITS, usual_bits
from tests.conftest import designed
from tests.two_stripes import text

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = "server_mode: static, server_link: routed, gateway_host: 0"
TWO = 'tenants: {a: {members: ["H100-01"]}, b: {members: ["H100-[02-04]"]}}'


@pytest.mark.parametrize("lines", [(), (TWO,)], ids=["one", "tenants"])
@pytest.mark.parametrize(
    "addressing",
    [
        f'{{server_pool: 10.0.0.0/10, {PAIRS}, prefix_length: 31, dual_stack: {{server_pool: "fd20::/32", prefix_length: 127, gateway_host: 0}}}}',
        f'{{server_pool: "fd20::/32", {PAIRS}, prefix_length: 127}}',
        '{server_pool: "fd20::/32", server_mode: static, prefix_length: 120}',
    ],
    ids=["dual", "routed", "access"],
)
def test_they_are_dealt(tmp_path: Path, addressing: str, lines: tuple[str, ...]) -> None:
    network, _ = designed(tmp_path, text(f"addressing: {addressing}", *lines))
    prefixes = [subnet.prefix for one in network.segments for subnet in one.subnets]
    assert prefixes
    assert len(set(prefixes)) == len(prefixes)


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("tenants", [False, True])
def test_the_fields_fill_what_is_free(routed: bool, tenants: bool) -> None:
    for free in range(1, 126):
        bits = usual_bits(free, routed=routed, tenants=tenants)
        widths = (bits.stripe, bits.rail, bits.color, bits.server, bits.tenant)
        assert sum(widths) == free
        assert max(widths) <= MOST_BITS
