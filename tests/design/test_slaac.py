"""SLAAC addresses, against the standard library."""

from __future__ import annotations

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from railweave.design.addresses.nics import eui64

GROUPS = st.lists(st.sampled_from([0, 0, 1]) | st.integers(0, 0xFFFF), min_size=3, max_size=3)
MACS = st.lists(st.sampled_from([0, 0, 2, 255]) | st.integers(0, 255), min_size=6, max_size=6)


@given(GROUPS, MACS)
def test_addresses_are_as_short_as_the_library_has_them(groups: list[int], mac: list[int]) -> None:
    """Zeros at the end of the prefix and at the beginning of the interface are left out together (RFC 5952)."""
    number = sum(group << 112 - 16 * place for place, group in enumerate([0xFC00, *groups]))
    network = ipaddress.IPv6Network((number, 64))
    interface = bytes([mac[0] ^ 2, *mac[1:3], 0xFF, 0xFE, *mac[3:]])
    expected = network.network_address + int.from_bytes(interface)
    assert eui64(str(network), bytes(mac).hex(":")) == str(expected)
