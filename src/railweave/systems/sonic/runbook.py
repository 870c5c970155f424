"""The runbook of SONiC.

The commands are from SONiC's command reference (sonic-utilities, ``doc/Command-Reference.md``). FRRouting does the
routing, so routing is checked in ``vtysh``.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.systems import runbook
from railweave.systems.frr.runbook import ROUTING
from railweave.systems.sonic.daemons import started
from railweave.systems.sonic.names import vrf_names
from railweave.systems.sonic.render.qos import lossless_profile, profile_name
from railweave.systems.sonic.statements.management import hash_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CONFIGURATION = "config_db.json"

LOAD = """
# Copy both files to the switch, at the address that it has now:
$ scp devices/{config.name}/config_db.json devices/{config.name}/frr.conf admin@ADDRESS:/tmp/
# Do the rest from the console: `config reload` stops every service and changes the management address. SONiC has no commit that takes itself back, so keep the old files.
$ sudo cp /etc/sonic/config_db.json /etc/sonic/config_db.before.json
$ sudo cp /etc/sonic/frr/frr.conf /etc/sonic/frr/frr.before.conf
# Look at what changes; the second command is silent where FRRouting reads every line:
$ diff <(sonic-cfggen -d --print-data | python3 -m json.tool --sort-keys) <(python3 -m json.tool --sort-keys /tmp/config_db.json)
$ docker cp /tmp/frr.conf bgp:/tmp/frr.conf && docker exec bgp vtysh -C -f /tmp/frr.conf
# Put both in place and load them:
$ sudo cp /tmp/config_db.json /etc/sonic/config_db.json
$ sudo cp /tmp/frr.conf /etc/sonic/frr/frr.conf
$ sudo config reload -y
# A reload may start FRRouting without its configuration. The file must be there, and BGP must run as it says (the counts are equal, and not 0 where the file has BGP):
$ ls -l /etc/sonic/frr/frr.conf
$ grep -c '^router bgp' /etc/sonic/frr/frr.conf
$ vtysh -c 'show running-config' | grep -c '^router bgp'
# If the file is missing or BGP does not run: copy the file again, then `sudo systemctl restart bgp`, and look at `docker logs bgp`.
# From another terminal, after the services are up: `ssh admin@{config.management_address.address}`. If that does not work, go back on the console:
$ sudo cp /etc/sonic/config_db.before.json /etc/sonic/config_db.json
$ sudo cp /etc/sonic/frr/frr.before.conf /etc/sonic/frr/frr.conf
$ sudo config reload -y
"""

IDENTITY = """
# Model and release
$ show version
$ show platform summary
- HwSKU {platform.hwsku}, platform {platform.platform}
- SONiC {config.release}, or a newer release of the same branch
- serial number {serial}
- another release: install this one first (`sudo sonic-installer install IMAGE`, `sudo reboot`), and look again
"""

_IN_VTYSH = re.sub(r"(?m)^\$ (.*)$", r"$ vtysh -c '\1'", ROUTING.strip())

CHECKS = f"""
# Services
$ show system-health summary
$ show feature status
$ vtysh -c 'show daemons'
- every service that the switch needs is up: nothing below is true before
- FRRouting runs {{daemons}}
- SONiC itself starts no {{not_started}}: nothing of it works before it runs
- {{?frrcfgd}}bgpcfgd does not run, frrcfgd does: no route-map RM_SET_SRC gives packets of the switch itself its loopback's address (`ping -I Loopback0`), and SNMP knows no BGP neighbors
# Ports
$ show interfaces status
$ show interfaces description
$ {{?splits}}show interfaces breakout current-mode
- {{ports}} up, up, each described with its neighbor in the port table; MTU {{mtus}}, without the Ethernet header
- ports split: {{splits}}
# Modules and error correction, all ports
$ show interfaces transceiver presence
$ show interfaces transceiver eeprom --dom
$ show interfaces fec status
$ show interfaces counters fec-stats
$ show interfaces counters errors
- {{module_points}}
| modules
# Cabling, by LLDP
$ show lldp table
- {{switches}} seen, each on the port of the port table above
- a neighbor on another port is a cable in the wrong port: move it before going on
{_IN_VTYSH}
#[config.gateways] Server prefixes
$ show {{gateway.ip}} interfaces
$ {{?vlan_ports}}show vlan brief
$ {{?advertised}}vtysh -c 'show ipv6 nd ra-interfaces'
- the gateway addresses below, up where a server is connected
- {{vlan_ports}} in these VLANs, untagged where servers do not tag
- each prefix below advertised, valid {{advertised.prefix_valid_lifetime:,}} s, preferred {{advertised.prefix_preferred_lifetime:,}} s, every {{advertised.min_interval}} to {{advertised.max_interval}} s
| gateways
#[hashed] Hash of next-hop groups
$ show switch-hash global
$ show switch-hash capabilities
- ECMP hash {{hashed}}, each of them among the capabilities; if one is missing, orchagent sets none of them, and syslog has `capability is not supported`
- the chip then hashes by fields of its own: see that all uplinks carry traffic
#[qos] Classes, ECN
$ show runningconfiguration all
$ show ecn
- bound to {{bound}}; DSCPs not named below are {{qos.default_class}}
| classes
#[lossless] PFC and buffers
$ show pfc priority
$ show buffer configuration
$ {{?dog}}show pfcwd config
- PFC on priority {{lossless}} of every port below
- watchdog: {{dog.action}}, detection {{detection}} ms, restoration {{dog.recovery}} ms, polled every {{dog.poll_interval}} ms
| profiles
#[lossless] Counters, before and under load
$ show pfc counters
$ show queue counters {{first}}
$ show queue wredcounters {{first}}
$ show priority-group drop counters
$ show priority-group watermark headroom
$ {{?dog}}show pfcwd stats
- idle: no errors, no drops, no PFC frames, no ECN-marked packets
- under load: PFC only on priority {{lossless}}, and ECN marks before it
- drops of a lossless priority group: its headroom is short for the real cable
- {{?dog}}the watchdog has detected nothing
"""


def _needed(switch: runbook.Switch) -> list[str]:
    """Return the FRRouting daemons that must run on the switch."""
    more = {"bfdd": switch.bgp and switch.bgp.bfd, "isisd": switch.isis}
    return ["zebra", "bgpd", *(name for name, runs in more.items() if runs)]


def _mtu(switch: runbook.Switch) -> str:
    """Return the MTUs of all ports in bytes, separated by commas, as SONiC counts them: without the Ethernet header."""
    routed = {gateway.port: gateway.mtu for gateway in switch.config.gateways if gateway.port}
    mtus = {routed.get(port.name, port.mtu - ETHERNET_HEADER) for port in switch.config.interfaces}
    return ", ".join(map(str, sorted(mtus)))


def _vlan_ports(switch: runbook.Switch) -> str:
    """Return the number of ports in VLANs as a phrase such as "4 ports"; empty if no gateway has a VLAN."""
    members = counted(sum(1 for port in switch.config.interfaces if port.vlan), "port")
    return members if any(gateway.vlan for gateway in switch.config.gateways) else ""


def _profiles(switch: runbook.Switch) -> Iterable[tuple[object, ...]]:
    """Return a row for each lossless buffer profile in ``BUFFER_PROFILE``, with the number of ports that use it."""
    model, rows = catalog().switches[switch.config.model], dict[str, tuple[object, ...]]()
    ports: Counter[str] = Counter()
    for profile in switch.qos.profiles:
        for port in switch.config.interfaces:
            if port.name in profile.ports:
                row, name = lossless_profile(profile, switch.qos, model), profile_name(port, profile)
                rows[name] = (name, row["size"], row["xoff"])
                ports[name] += 1
    return ((*row, ports[name]) for name, row in rows.items())


def _vrf(switch: runbook.Switch) -> Callable[[str], str]:
    names = vrf_names(switch.config)
    return lambda name: names.get(name, name)


VALUES: runbook.Values = {
    "fec": lambda _: " (SONiC: rs)",
    "vrf": _vrf,
    "platform": lambda switch: catalog().switches[switch.config.model].sonic,
    "daemons": lambda switch: ", ".join(_needed(switch)),
    "not_started": lambda switch: tuple(name for name in _needed(switch) if name not in started(switch.config)),
    "frrcfgd": lambda switch: "bfdd" in started(switch.config),
    "mtus": _mtu,
    "vlan_ports": _vlan_ports,
    # If the chip cannot set a field, orchagent leaves the field unchanged and only writes a line to syslog.
    # Source: sonic-swss, orchagent/switchorch.cpp (setSwitchHash).
    "hashed": lambda switch: ", ".join(hash_fields(switch.config.balancing.hash)),
    "detection": lambda switch: switch["dog"] and switch["dog"].poll_interval * switch["dog"].detection,
}

_BOOK = runbook.Runbook(
    CONFIGURATION,
    LOAD,
    IDENTITY,
    CHECKS,
    VALUES,
    {"profiles": (("Buffer profile", "Size, bytes", "Headroom limit (xoff), bytes", "Ports"), _profiles)},
)
load, identity, checks = _BOOK.load, _BOOK.identity, _BOOK.checks
