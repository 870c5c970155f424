"""The release branches of SONiC, and the first of them that has each table and field that is rendered.

Read from ``src/sonic-yang-models`` of sonic-net/sonic-buildimage on every branch named here (heads of June to August 2026), and, where the daemon that
reads a table came later than its model, from the daemon:

- ``BANNER_MESSAGE``: the model is on 202405, ``hostcfgd`` of sonic-net/sonic-host-services reads it from 202411 on;
- ``FLEX_COUNTER_TABLE|WRED_ECN_QUEUE``: the model is on 202411, orchagent and ``counterpoll`` have it from 202505 on;
- ``SAG`` and ``static_anycast_gateway``: models, ``intfmgrd`` and orchagent have them on master alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.systems.sonic.tables import Tables

MASTER = "master"
NUMBERED = ("202405", "202411", "202505", "202511", "202605")
OLDEST, NEWEST = NUMBERED[0], NUMBERED[-1]
FRR = {
    "202405": "8.5.4",
    "202411": "10.0.1",
    "202505": "10.3",
    "202511": "10.4.1",
    "202605": "10.5.4",
}
"""The FRRouting of each branch (``rules/frr.mk``)."""

_BRANCH_DIGITS = 6


@dataclass(frozen=True)
class Since:
    """The first branch that has a table and those of its ``fields``; ``later``: fields, ``rows``: rows, that came after. ``*``: fields are rows of a map."""

    branch: str
    fields: str
    later: Mapping[str, str] = field(default_factory=dict[str, str])
    rows: Mapping[str, str] = field(default_factory=dict[str, str])


SINCE: Mapping[str, Since] = {
    "AAA": Since(OLDEST, "failthrough login"),
    "ACL_RULE": Since(
        OLDEST,
        "DST_IP DST_IPV6 IN_PORTS IP_PROTOCOL L4_DST_PORT L4_DST_PORT_RANGE PACKET_ACTION PRIORITY SRC_IP SRC_IPV6",
    ),
    "ACL_TABLE": Since(OLDEST, "policy_desc ports services stage type"),
    "BANNER_MESSAGE": Since("202411", "login state"),
    "BREAKOUT_CFG": Since(OLDEST, "brkout_mode"),
    "BUFFER_PG": Since(OLDEST, "profile"),
    "BUFFER_POOL": Since(OLDEST, "mode size type xoff"),
    "BUFFER_PROFILE": Since(OLDEST, "dynamic_th pool size static_th xoff xon xon_offset"),
    "BUFFER_QUEUE": Since(OLDEST, "profile"),
    "DEVICE_METADATA": Since(
        OLDEST,
        "bgp_asn bgp_router_id buffer_model default_pfcwd_status docker_routing_config_mode frr_mgmt_framework_config hostname hwsku platform timezone type",
    ),
    "DNS_NAMESERVER": Since(OLDEST, ""),
    "DNS_OPTIONS": Since("202511", "search"),
    "DSCP_TO_TC_MAP": Since(OLDEST, "*"),
    "FEATURE": Since(OLDEST, "state"),
    "FLEX_COUNTER_TABLE": Since(OLDEST, "FLEX_COUNTER_STATUS", rows={"WRED_ECN_QUEUE": "202505"}),
    "GNMI": Since(OLDEST, "ca_crt client_auth port server_crt server_key", later={"vrf": MASTER}),
    "INTERFACE": Since(OLDEST, "ipv6_use_link_local_only vrf_name"),
    "LOOPBACK_INTERFACE": Since(OLDEST, "vrf_name"),
    "MACSEC_PROFILE": Since(OLDEST, "cipher_suite policy primary_cak primary_ckn"),
    "MAP_PFC_PRIORITY_TO_QUEUE": Since(OLDEST, "*"),
    "MGMT_INTERFACE": Since(OLDEST, "gwaddr"),
    "MGMT_PORT": Since(OLDEST, "admin_status alias"),
    "MGMT_VRF_CONFIG": Since(OLDEST, "mgmtVrfEnabled"),
    "NTP": Since(OLDEST, "src_intf vrf"),
    "NTP_SERVER": Since(OLDEST, "iburst"),
    "PFC_WD": Since(OLDEST, "POLL_INTERVAL action detection_time restoration_time"),
    "PORT": Since(OLDEST, "admin_status alias description fec index lanes macsec mtu speed subport"),
    "PORT_QOS_MAP": Since(
        OLDEST, "dscp_to_tc_map pfc_enable pfc_to_queue_map pfcwd_sw_enable tc_to_pg_map tc_to_queue_map"
    ),
    "PORT_STORM_CONTROL": Since(OLDEST, "kbps"),
    "QUEUE": Since(OLDEST, "scheduler wred_profile"),
    "RADIUS_SERVER": Since(OLDEST, "auth_port passkey priority timeout vrf"),
    "SAG": Since(MASTER, "gateway_mac"),
    "SCHEDULER": Since(OLDEST, "type weight"),
    "SERIAL_CONSOLE": Since("202411", "inactivity_timeout"),
    "SNMP": Since(OLDEST, "Contact Location"),
    "SNMP_COMMUNITY": Since(OLDEST, "TYPE"),
    "SNMP_USER": Since(
        OLDEST,
        "SNMP_USER_AUTH_PASSWORD SNMP_USER_AUTH_TYPE SNMP_USER_ENCRYPTION_PASSWORD SNMP_USER_ENCRYPTION_TYPE SNMP_USER_PERMISSION SNMP_USER_TYPE",
    ),
    "SSH_SERVER": Since(OLDEST, "authentication_retries", later={"inactivity_timeout": "202411"}),
    "SWITCH_HASH": Since(OLDEST, "ecmp_hash"),
    "SYSLOG_SERVER": Since(OLDEST, "port severity vrf"),
    "TACPLUS": Since(OLDEST, "passkey src_intf"),
    "TACPLUS_SERVER": Since(OLDEST, "passkey priority tcp_port timeout vrf"),
    "TC_TO_PRIORITY_GROUP_MAP": Since(OLDEST, "*"),
    "TC_TO_QUEUE_MAP": Since(OLDEST, "*"),
    "VLAN": Since(OLDEST, "description mtu vlanid"),
    "VLAN_INTERFACE": Since(OLDEST, "proxy_arp vrf_name", later={"static_anycast_gateway": MASTER}),
    "VLAN_MEMBER": Since(OLDEST, "tagging_mode"),
    "VLAN_SUB_INTERFACE": Since(OLDEST, "admin_status vlan vrf_name"),
    "VRF": Since(OLDEST, "vni"),
    "VXLAN_EVPN_NVO": Since(OLDEST, "source_vtep"),
    "VXLAN_TUNNEL": Since(OLDEST, "src_ip"),
    "VXLAN_TUNNEL_MAP": Since(OLDEST, "vlan vni"),
    "WRED_PROFILE": Since(
        OLDEST, "ecn green_drop_probability green_max_threshold green_min_threshold wred_green_enable"
    ),
}
"""Tables and fields that are rendered."""


def known(release: str) -> bool:
    """Return whether a release is of a branch that has been read."""
    return release[:_BRANCH_DIGITS] in NUMBERED


def branch(release: str) -> str:
    """Return the branch that a release is rendered for: its own; of an unknown one the branch before it, and master if it is newer than all."""
    number = release[:_BRANCH_DIGITS]
    if len(number) != _BRANCH_DIGITS or not number.isdecimal():
        return OLDEST
    if number > NEWEST:
        return MASTER
    return max((one for one in NUMBERED if one <= number), default=OLDEST)


def newer(first: str, than: str) -> bool:
    """Return whether a branch is newer than another."""
    return than != MASTER and (first == MASTER or first > than)


def lacking(tables: Tables, on: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield what a branch does not have: table, row (empty: the whole table), field (empty: the whole row), and the first branch that has it."""
    for name, since in SINCE.items():
        rows = tables.get(name)
        if not rows:
            continue
        if newer(since.branch, on):
            yield name, "", "", since.branch
            continue
        gone = {one: first for one, first in since.rows.items() if one in rows and newer(first, on)}
        yield from ((name, row, "", first) for row, first in gone.items())
        late = [(one, first) for one, first in since.later.items() if newer(first, on)]
        for one, first in late:
            yield from ((name, row, one, first) for row, fields in rows.items() if row not in gone and one in fields)


def keep(tables: Tables, on: str) -> None:
    """Take out of tables what a branch does not have."""
    for table, row, one, _ in list(lacking(tables, on)):
        if not row:
            del tables[table]
        elif not one:
            del tables[table][row]
        else:
            tables[table][row] = {name: value for name, value in tables[table][row].items() if name != one}
