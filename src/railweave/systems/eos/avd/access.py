"""AVD: logins, their servers and limits; who may ask by SNMP; server ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.names import MANAGEMENT_PORT, MANAGEMENT_VRF, SNMP_CLIENTS, secret

if TYPE_CHECKING:
    from railweave.model.device.access import LoginServer
    from railweave.model.device.management import Management, Snmp
    from railweave.model.device.model import DeviceConfig, Interface


def _server(one: LoginServer) -> dict[str, Any]:
    return {"host": one.host, "key": secret(one.key), "key_type": "0", "timeout": one.timeout}


def _with_port(kind: str, one: LoginServer) -> str:
    """A server's line where it listens on another port than the protocol's own, for which the schema has no word."""
    port = f"port {one.port}" if kind == "tacacs" else f"auth-port {one.port}"
    key = f"timeout {one.timeout} key 0 {secret(one.key)}"
    return f"{kind}-server host {one.host} vrf {MANAGEMENT_VRF} {port} {key}"


def logins(wanted: Management, raw: list[str]) -> dict[str, Any]:
    """Methods, servers, limits; empty where a device has neither users nor servers nor limits.

    ``raw`` takes lines that the schema has no word for.
    """
    security = wanted.security
    aaa = security.aaa if security else None
    tacacs, radius = (aaa.tacacs, aaa.radius) if aaa else ((), ())
    methods = ["group tacacs+"] * bool(tacacs) + ["group radius"] * bool(radius) + ["local"]
    found: dict[str, Any] = {}
    authentication: dict[str, Any] = {}
    authorization: dict[str, Any] = {}
    source = [{"name": MANAGEMENT_PORT, "vrf": MANAGEMENT_VRF}]
    if tacacs:
        raw += [_with_port("tacacs", one) for one in tacacs if one.port]
        hosts = [{**_server(one), "vrf": MANAGEMENT_VRF} for one in tacacs if not one.port]
        found |= {"tacacs_servers": {"hosts": hosts}} if hosts else {}
        found["ip_tacacs_source_interfaces"] = source
    if radius:
        raw += [_with_port("radius", one) for one in radius if one.port]
        servers = [_server(one) for one in radius if not one.port]
        found |= {"radius_server": {"vrfs": [{"name": MANAGEMENT_VRF, "servers": servers}]}} if servers else {}
        found["ip_radius_source_interfaces"] = source
    if aaa and (tacacs or radius):
        role = "network-admin" if aaa.role == "super-user" else "network-operator"
        authorization["policy"] = {"local_default_role": role}
    if wanted.users or tacacs or radius:
        authentication["login"] = {"default": " ".join(methods)}
        authorization["exec"] = {"default": " ".join(methods)}
    if security and security.login:
        lockout = {"failure": security.login.attempts, "duration": security.login.lockout * 60}
        authentication["policies"] = {"lockout": lockout}
        found["management_console"] = {"idle_timeout": security.login.idle}
    found |= {"aaa_authentication": authentication} if authentication else {}
    return found | ({"aaa_authorization": authorization} if authorization else {})


def snmp_lists(snmp: Snmp | None) -> dict[str, Any]:
    """Access lists of who may ask with the community; the last entry denies."""
    if snmp is None or not (snmp.community and snmp.clients):
        return {}
    found: dict[str, Any] = {}
    for key, six in (("standard_access_lists", False), ("ipv6_standard_access_lists", True)):
        actions = [f"permit {one}" for one in snmp.clients if (one.family == "ipv6") == six]
        numbered = [{"sequence": 10 * at, "action": action} for at, action in enumerate([*actions, "deny any"], 1)]
        found[key] = [{"name": SNMP_CLIENTS, "sequence_numbers": numbered}]
    return found


def edge_port(config: DeviceConfig, port: Interface) -> dict[str, Any]:
    """What guards a layer-2 server port."""
    edge = config.management.security.edge_ports if config.management.security else None
    if edge is None or port.kind != "server" or port.vlan is None:
        return {}
    found: dict[str, Any] = {}
    if edge.storm_control is not None:
        level = {"level": str(edge.storm_control), "unit": "percent"}
        found["storm_control"] = {"broadcast": level, "multicast": level, "unknown_unicast": level}
    if edge.bpdu_guard:
        found |= {"spanning_tree_portfast": "edge", "spanning_tree_bpduguard": "enabled"}
    return found


def spanning_tree(config: DeviceConfig) -> dict[str, Any]:
    """Its mode: bridges are listened for where a guard is wanted on a port that is bridged."""
    edge = config.management.security.edge_ports if config.management.security else None
    bridged = any(one.kind == "server" and one.vlan for one in config.interfaces)
    return {"mode": "rstp" if edge and edge.bpdu_guard and bridged else "none"}
