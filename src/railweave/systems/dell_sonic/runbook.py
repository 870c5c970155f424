"""The runbook of Enterprise SONiC by Dell.

Dell's manuals require a login. Therefore the commands are ``sonic-cli`` commands that the public test library of
sonic-net/sonic-mgmt (``spytest/apis``) sends to Enterprise SONiC. If the library has no command for a check, the
command is ``show running-configuration``.
"""

from __future__ import annotations

import re

from railweave.systems.dell_sonic.tree import LOSSLESS_BUFFERS
from railweave.systems.runbook import Runbook
from railweave.systems.sonic.runbook import VALUES

CONFIGURATION = "sonic.cli"

LOAD = """
# Do this on the console: the management address changes. The commands add to what the switch has, so begin with a switch as delivered. Enterprise SONiC has no commit that takes itself back.
#[!lossless] Type the lines of `devices/{config.name}/prepare.cli` in `sonic-cli`, then `exit` and enter it again: names of ports take effect in the next session.
#[lossless] Type the lines of `devices/{config.name}/prepare.cli` in `sonic-cli`. The last one, `{restarts}`, asks `[Proceed y/N]:`: answer `y`. The switch then restarts by itself. Type nothing more in that session: it would be lost.
#[lossless] Wait for the login prompt, which takes minutes, and log in again. This must show `{restarts}`. If it does not, type that line once more before anything of the next file:
$ show running-configuration | grep lossless
# Type those of `devices/{config.name}/sonic.cli` in `sonic-cli`, and stop at the first line that is refused: the last one saves them. This shows the result:
$ show running-configuration | no-more
# From another terminal:
$ ssh {user}@{config.management_address.address}
"""

IDENTITY = """
# Model and release (in `sonic-cli`)
$ show version
- model {config.model}, Enterprise SONiC {config.release} or newer
- serial number {serial}
- another release: install this one first, as Dell's manual says, and look again
"""

CHECKS = """
# Ports
$ show interface status
- {ports} up, up, each described with its neighbor in the port table
- MTU {mtus} on every port, without the Ethernet header
# Modules and error correction, all ports
$ show interface status
$ show running-configuration | no-more
- no public document names a command for light and error rates: `?` after `show interface` lists what the release has
- {module_points}
| modules
# Cabling, by LLDP
$ show lldp table
- {switches} seen, each on the port of the port table above
- a neighbor on another port is a cable in the wrong port: move it before going on
#[bgp] BGP sessions
$ show bgp {bgp.families} unicast summary
- local AS {bgp.asn}, router id {bgp.router_id}, {neighbors}, all established
- the prefixes received are those that the import policy lets in; the last column counts prefixes that have this session's port among their next hops
- BFD runs on each session, {session_timers}: a session that flaps loses it first
- {both_families}
| sessions
#[bgp leaf] Routes to another leaf
$ show {example.ip} route
- prefixes of {leaf}, with exactly these ports as next hops
| routes
#[overlay] Overlay sessions
$ show bgp l2vpn evpn summary
- {overlay_points}
| overlay
#[config.vrfs] Tenants
$ show {tenant.ip} route vrf {tenant.vrf}
$ show running-configuration | no-more
- {tenant_points}
| tenants
#[external] External sessions
$ show bgp {external.family} unicast vrf {external.vrf} summary
- {external_sessions} established, once the routers outside are set up
| external
#[config.gateways] Server prefixes
$ show {gateway.ip} route
$ show running-configuration | no-more
- each prefix below is connected, by the interface below, once a server is connected
| gateways
#[qos] Classes, ECN, PFC
$ show qos interface {shown}
$ show running-configuration | no-more
- bound to {bound}; DSCPs not named below are {qos.default_class}
| classes
#[lossless] Counters, before and under load
$ show queue counters interface {shown}
$ show qos interface Eth all priority-flow-control statistics queue
- idle: no errors and no drops
- under load: packets in queue {lossless}, none dropped
- no public document says where PFC frames are counted; the second command shows the PFC watchdog's counters
- {?dog}the watchdog has detected nothing
"""


_BOOK = Runbook(
    CONFIGURATION,
    LOAD,
    IDENTITY,
    CHECKS,
    {
        **VALUES,
        "fec": lambda _: " (port-fec in RESTCONF)",
        "restarts": lambda _: LOSSLESS_BUFFERS,
        "user": lambda switch: next(iter(switch.config.management.users), "admin"),
        # The name of a port in the form that `show` expects: `Eth 1/1/1`.
        "shown": lambda switch: re.sub(r"^([A-Za-z]+)(?=\d)", r"\1 ", switch["first"]),
    },
)
load, identity, checks = _BOOK.load, _BOOK.identity, _BOOK.checks
