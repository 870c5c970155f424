"""The runbook of Arista EOS. The commands are from Arista's manual; the expected values follow from the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.eos.names import MACSEC_PROFILE
from railweave.systems.eos.render.keys import CIPHERS
from railweave.systems.eos.render.qos import headroom_bytes
from railweave.systems.runbook import Runbook

if TYPE_CHECKING:
    from railweave.model.device.model import Marking
    from railweave.model.device.qos_model import TrafficClass

CONFIGURATION = "eos.conf"

LOAD = """
# A switch as delivered looks for a configuration by DHCP (zero-touch provisioning). End that at the console, as admin, who has no password. The switch restarts:
$ zerotouch disable
# Copy the file to the switch from a USB stick, or by SSH to the address that the switch has now. Before you use SSH, give admin a password (`username admin secret PASSWORD`), because admin without one logs in only at the console.
$ scp devices/{config.name}/eos.conf admin@ADDRESS:/mnt/flash/{config.name}.conf
#[config.management.services.grpc_certificate] gNMI takes its certificate from the switch's own store: put it there first, or gNMI does not start.
$ copy flash:railweave.pem certificate:
$ copy flash:railweave.key sslkey:
# Do the rest from the console. The session holds what changes until it is committed: read it, and stop where a line was refused.
$ configure session railweave
$ rollback clean-config
$ copy flash:{config.name}.conf session-config
$ show session-config diffs
# Commit for 10 minutes: without a second commit the switch goes back by itself.
$ commit timer 00:10:00
# From another terminal:
$ ssh {user}@{config.management_address.address}
# Only if that works, within the 10 minutes, on the console:
$ configure session railweave commit
$ copy running-config startup-config
#[open_admin] The design has no user admin, so `rollback clean-config` has removed the password of admin: at the console, admin logs in without one. To prevent it, add `admin` to `users` in the fabric file, or remove the account:
$ configure
$ no username admin
$ end
$ copy running-config startup-config
"""

IDENTITY = """
# Model and release
$ show version
- model {config.model}, EOS {config.release} or newer
- serial number {serial}
- another release: install this one first (`install source IMAGE`, `reload`), and look again
"""

CHECKS = """
# Ports
$ show interfaces status connected
$ show interfaces description
- {ports} connected, each described with its neighbor in the port table
# Modules and error correction, all ports
$ show interfaces transceiver
$ show interfaces error-correction
$ show interfaces counters errors
- {module_points}
| modules
#[macsec] MACsec
$ show mac security interface
$ show mac security participants
- profile {macsec_profile} secures {secured}: {secured_names}
- cipher {cipher}, key name {macsec.key_name}, the same on both ends
- no link comes up where the keys differ: IS-IS, BGP and LLDP stay silent there
# Cabling, by LLDP
$ show lldp neighbors
- {switches} seen, each on the port of the port table above
- a neighbor on another port is a cable in the wrong port: move it before going on
#[isis] IS-IS adjacencies
$ show isis neighbors
$ show isis interface
$ show isis summary
- {adjacencies}, level 2, all up
- network entity title {isis.net}; {passive} and Loopback0 passive
| adjacencies
#[isis.bfd] BFD
$ show bfd peers
- {isis_sessions} up
- {isis_timers}
#[bgp] BGP sessions
$ show bgp {bgp.families} unicast summary
- local AS {bgp.asn}, router id {bgp.router_id}, {neighbors}, all established
- PfxRcd counts what was received, PfxAcc what the import policy lets in; the last column counts prefixes that have this session's port among their next hops
- {both_families}
| sessions
#[bgp.bfd] BFD
$ show bfd peers
- {bfd_sessions} up
- {bfd_timers}
#[bgp leaf] Routes to another leaf
$ show {example.ip} route {example.prefix}
- prefixes of {leaf}, with exactly these ports as next hops of the route in use
| routes
#[overlay] Overlay sessions
$ show bgp evpn summary
- {overlay_points}
| overlay
#[config.vrfs] Tenants
$ show vrf
$ show vxlan vni
$ show {tenant.ip} route vrf {tenant.vrf}
- {tenant_points}
| tenants
#[external] External sessions
$ show bgp {external.family} unicast summary vrf {external.vrf}
- {external_sessions} established, once the routers outside are set up
| external
#[config.gateways] Server prefixes
$ show {gateway.ip} interface brief
$ {?six}show ipv6 nd ra interface {first_gateway}
- the gateway addresses below, up where a server is connected
- each prefix below advertised, valid {advertised.prefix_valid_lifetime:,} s, preferred {advertised.prefix_preferred_lifetime:,} s, every {advertised.min_interval} to {advertised.max_interval} s
| gateways
#[qos] Classes, ECN
$ show qos maps
$ show qos interfaces {first}
- bound to {bound}; DSCPs not named below are {qos.default_class}
| classes
#[lossless] PFC and buffers
$ show priority-flow-control status
$ show platform trident mmu queue profile
- headroom limit {headroom:,} bytes a port and priority (the report's need is smaller: it counts packets of the MTU's size)
- watchdog: {dog.poll_interval} ms x {dog.detection}, recovery {dog.recovery} ms
#[lossless] Counters, before and under load
$ show priority-flow-control counters
$ show interfaces {first} counters queue
$ show qos interfaces ecn counters queue
- idle: no errors, no drops, no PFC frames, no ECN-marked packets
- under load: PFC only on priority {lossless}, and ECN marks before it
"""


def _share(row: TrafficClass) -> str:
    if row.priority == "strict-high":
        return f"strict, shaped to {row.transmit_percent} %" if row.transmit_percent else "strict"
    return f"bandwidth {row.transmit_percent} %" if row.transmit_percent else "–"


def _marked(ecn: Marking) -> str:
    return f"{ecn.first // 1000} to {ecn.last // 1000} kB, up to {ecn.probability} %"


_BOOK = Runbook(
    CONFIGURATION,
    LOAD,
    IDENTITY,
    CHECKS,
    {
        "macsec_profile": lambda _: MACSEC_PROFILE,
        "cipher": lambda switch: CIPHERS[switch["macsec"].cipher_suite],
        "six": lambda switch: switch["gateway"].family == "ipv6",
        "headroom": lambda switch: headroom_bytes(switch.qos),
        "open_admin": lambda switch: "admin" not in switch.config.management.users,
        "share": lambda _: _share,
        "marked": lambda _: _marked,
    },
)
load, identity, checks = _BOOK.load, _BOOK.identity, _BOOK.checks
