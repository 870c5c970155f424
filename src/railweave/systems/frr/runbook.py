"""The runbook of FRRouting, with commands for ``vtysh``. It does not check the functions of the Linux host (ports, QoS)."""

from __future__ import annotations

from operator import attrgetter

from railweave.systems.runbook import Runbook

CONFIGURATION = "frr.conf"

LOAD = """
# Copy `devices/{config.name}/frr.conf` to the switch as `{config.name}.conf`, then in its shell:
$ install -o frr -g frr -m 640 {config.name}.conf /etc/frr/frr.conf
$ vtysh -C -f /etc/frr/frr.conf
$ systemctl restart frr
#[config.protection] Copy `devices/{config.name}/nftables.conf` there too: it filters what is for the host itself, from now on and after a restart:
$ install -m 644 nftables.conf /etc/nftables.conf
$ nft -f /etc/nftables.conf
$ systemctl enable nftables
"""

IDENTITY = """
# Release
$ show version
- FRRouting {config.release} or newer
- serial number {serial}
"""

ROUTING = """
#[bgp] BGP sessions
$ show bgp {bgp.families} unicast summary
- local AS {bgp.asn}, router id {bgp.router_id}, {neighbors}, all established
- State/PfxRcd counts what the import policy lets in; the last column counts prefixes that have this session's port among their next hops
- {both_families}
| sessions
#[bgp.bfd] BFD
$ show bfd peers brief
- {bfd_sessions} up
- {bfd_timers}
#[bgp leaf] Routes to another leaf
$ show bgp {example.family} unicast {example.prefix}
$ show {example.ip} route {example.prefix}
- prefixes of {leaf}, with exactly these ports as next hops of the best path
| routes
#[isis] IS-IS
$ show isis neighbor
$ show isis route
- {isis_neighbors}, level 2, state Up
#[overlay] Overlay sessions
$ show bgp l2vpn evpn summary
- {overlay_points}
| overlay
#[config.vrfs] Tenants
$ show vrf vni
$ show evpn vni
$ show bgp vrf {tenant.vrf} {tenant.family} unicast
- {tenant_points}
| tenants
#[external] External sessions
$ show bgp vrf {external.vrf} {external.family} unicast summary
- {external_sessions} established, once the routers outside are set up
| external
"""
"""The steps of the runbook that check routing in ``vtysh``, for every system that runs FRRouting."""

CHECKS = f"""
# Ports
$ show interface brief
- {{ports}} up
- names and neighbors as in the port table above
# Modules and error correction, each port (in the shell)
$ ethtool -m {{first}}
$ ethtool --include-statistics --show-fec {{first}}
$ ethtool -S {{first}}
- {{module_points}}
| modules
# Cabling, by LLDP (in the shell)
$ lldpcli show neighbors
- {{switches}} seen, each on the port of the port table above
- FRR has no LLDP: lldpd runs beside it
{ROUTING.strip()}
#[config.gateways] Server prefixes
$ show interface brief
$ {{?advertised}}show ipv6 nd ra-interfaces
- the gateway addresses below
- {{?advertised}}each interface below sends router advertisements
| gateways
"""


_BOOK = Runbook(CONFIGURATION, LOAD, IDENTITY, CHECKS, {"gateway_name": lambda _: attrgetter("name")})
load, identity, checks = _BOOK.load, _BOOK.identity, _BOOK.checks
