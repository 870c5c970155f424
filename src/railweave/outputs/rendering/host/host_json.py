"""``host.json``: what a server is told, for ``railweave host``, the net plug-in and the preflight.

``document`` has its form; docs/host-json.md and the JSON Schema beside it follow from that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, cast

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict  # pydantic cannot take typing's own before Python 3.12

from railweave.outputs.rendering.host.nic_qos import driver_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device import host_model
    from railweave.model.device.host_model import Versions as AskedVersions


SCHEMA: Literal[1] = 1
"""Version of ``host.json``; raised when a reader of the old form would misread the new one."""

described = with_config(ConfigDict(use_attribute_docstrings=True))


@described
class Gpus(TypedDict):
    """The GPUs of a server."""

    count: int
    """how many"""
    model: str
    """which"""
    vendor: Literal["NVIDIA", "AMD", ""]
    """of whom; empty: a server without GPUs"""


@described
class Roce(TypedDict):
    """RDMA data."""

    dscp: int
    """DSCP"""
    priority: int
    """PFC priority"""
    traffic_class: int
    """the whole TOS or traffic class byte: DSCP x 4 + ECT(0)"""
    lossless: bool
    """whether the switches pause it (PFC)"""
    ecn: bool
    """whether the switches mark it, so that senders slow down"""
    bandwidth_percent: int
    """its share in the NIC's own scheduler"""
    adaptive_routing: bool
    """whether the fabric may deliver packets out of order"""
    other_dscp: NotRequired[list[int]]
    """further DSCPs of the same class; absent: none"""
    clear_to_send_traffic_class: NotRequired[int]
    """the same byte of clear-to-send messages and acknowledgements; absent: that of data"""


@described
class Cnp(TypedDict):
    """Congestion notification packets."""

    dscp: int
    """DSCP"""
    priority: int
    """802.1p priority on the NIC"""


@described
class LosslessClass(TypedDict):
    """A lossless class beside RDMA data."""

    dscp: list[int]
    """DSCPs"""
    priority: int
    """PFC priority"""
    ecn: bool
    """whether the switches mark it"""
    bandwidth_percent: int
    """its share in the NIC's own scheduler"""


@described
class Fabric(TypedDict):
    """The settings on which the NICs of a fabric must agree with its switches."""

    bfd_detection_ms: int | None
    """after how many ms the fabric notices a silent neighbor; null: no BFD"""
    roce: Roce
    """RDMA data"""
    cnp: Cnp
    """congestion notification packets"""
    other_lossless: NotRequired[dict[str, LosslessClass]]
    """lossless classes beside RDMA data, by name; absent: none"""


@described
class Address(TypedDict):
    """An address of a NIC, and what routes it."""

    path: Annotated[int, Field(ge=1)]
    """number of the address on its NIC, from 1"""
    color: int | None
    """the path color's number N of color:0:N; null: paths are not colored"""
    color_name: str
    """the path color's name; `default` where paths are not colored"""
    prefix: str
    """the server prefix it is in"""
    gateway: str
    """the leaf's address in that prefix"""
    address: str | None
    """the address; null: it follows from a MAC that is not known yet"""
    origin: Literal["slaac", "static"]
    """how it comes to be"""
    table: int
    """number of its routing table"""
    table_name: str
    """name of that table"""
    traffic_class: NotRequired[int]
    """the whole TOS or traffic class byte of this color's data; absent: as the fabric's"""
    service_level: NotRequired[int]
    """its service level; absent: 0"""


@described
class Nic(TypedDict):
    """A NIC on a fabric."""

    name: str
    """its name in the design"""
    netdev: str
    """its Linux interface"""
    rdma: str
    """its RDMA device"""
    rdma_port: int
    """port of the RDMA device"""
    mac: str | None
    """MAC address; null: not known yet"""
    model: str
    """catalog name"""
    driver: str
    """Linux driver of the interface"""
    gpu: int | None
    """the GPU beside it, from 0; null: none of its own"""
    fabric: str
    """the fabric it is on"""
    stripe: str
    """the stripe it is in"""
    rail: int
    """its rail, from 1"""
    leaf: str
    """the leaf it is cabled to"""
    leaf_port: str
    """the port there"""
    leaf_port_names: list[str]
    """other names by which the leaf may announce that port: its alias, its description"""
    speed_gbps: int
    """link speed, 10^9 bit/s"""
    cable_m: NotRequired[int]
    """length of its cable, m, rounded up; absent: not known"""
    mtu: int
    """MTU, bytes of an IP packet"""
    slaac: bool
    """whether its addresses are formed from router advertisements"""
    firmware: dict[str, str]
    """settings wanted in its flash, as the vendor's tool names them"""
    firmware_per_function: NotRequired[list[str]]
    """those of them that each function of the card has for itself; the tool is asked for the function's own"""
    addresses: list[Address]
    """its addresses, one per path"""
    tenant: NotRequired[str]
    """the tenant it belongs to; absent: none"""


@described
class Route(TypedDict):
    """A route of a source-routing table."""

    table: int
    """routing table"""
    to: str
    """`default`, or a prefix"""
    dev: str
    """interface"""
    via: NotRequired[str]
    """next hop; absent: on the link"""


_From = TypedDict("_From", {"from": NotRequired[Annotated[str, Field(description="source address or prefix")]]})
"""The key that is a word of Python."""


@described
class Rule(_From):
    """A rule that chooses a table."""

    table: int
    """the table it chooses"""
    dev: str
    """the interface it belongs to"""
    to: NotRequired[str]
    """destination prefix"""
    priority: NotRequired[int]
    """priority; absent: the kernel's choice"""


@described
class TenantJob(TypedDict):
    """The environment of a tenant's jobs."""

    environment: dict[str, str]
    """value by variable"""
    resolve: list[str]
    """variables whose value is found on the server at launch"""


@described
class Job(TypedDict):
    """The environment of a collective job."""

    library: Literal["NCCL", "RCCL"]
    """whose variables they are"""
    environment: dict[str, str]
    """value by variable"""
    resolve: list[str]
    """variables whose value is found on the server at launch"""
    tenants: NotRequired[dict[str, TenantJob]]
    """where GPUs belong to several tenants: `environment` and `resolve` of each tenant's jobs, by its name"""


@described
class Versions(TypedDict):
    """Software that the server should run; what is absent is not compared."""

    kernel: NotRequired[str]
    """release of the Linux kernel"""
    gpu_driver: NotRequired[str]
    """version of the GPU driver"""
    collective_library: NotRequired[str]
    """version of NCCL or RCCL"""
    nic_firmware: NotRequired[dict[str, str]]
    """firmware version by NIC model"""
    nic_driver: NotRequired[dict[str, str]]
    """driver version by driver"""


@described
class Host(TypedDict):
    """The configuration of a server."""

    schema: Literal[1]
    """version of this file's form"""
    network: str
    """name of the network"""
    host: str
    """name of the server"""
    model: str
    """catalog name of the server model"""
    gpu: Gpus
    """its GPUs"""
    router_advertisements: Literal["networkd", "kernel"]
    """who forms addresses from router advertisements"""
    fabrics: dict[str, Fabric]
    """by name of the fabric"""
    nics: list[Nic]
    """its NICs, by fabric and rail"""
    routes: list[Route]
    """routes of the source-routing tables"""
    rules: list[Rule]
    """rules that choose a table"""
    sysctl: dict[str, str]
    """kernel parameters by name"""
    kernel_command_line: list[str]
    """parameters of the kernel's command line"""
    driver_files: NotRequired[dict[str, dict[str, str]]]
    """files that drivers of NICs read: the settings of each, by its path"""
    versions: NotRequired[Versions]
    """software that it should run; absent: the design asks for none"""
    job: Job
    """environment of a collective job"""


def host_schema() -> dict[str, Any]:
    """The JSON Schema of ``host.json`` (draft 2020-12)."""
    schema = TypeAdapter(Host).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "host.json"}


def host_reference() -> str:
    """The reference as Markdown tables: the file, and after it every object that is below."""
    schema = host_schema()
    names, lines = ["host.json"], list[str]()
    for name in names:
        definition = schema["$defs"].get(name, schema)
        lines += [f"## {name}", "", definition["description"], "", "| key | type | meaning |", "|---|---|---|"]
        for key, value in definition["properties"].items():
            absent = "" if key in definition.get("required", ()) else ", may be absent"
            lines.append(f"| `{key}` | {_type(value, names)}{absent} | {value['description']} |")
        lines.append("")
    return "\n".join(lines)


def _type(value: dict[str, Any], names: list[str]) -> str:
    """A type in words, with a link to the object that it is of; ``names`` has every object that was named so far."""
    match value:
        case {"$ref": str(place)}:
            name = place.rpartition("/")[2]
            names += [name] if name not in names else []
            return f"[{name}](#{name.lower()})"
        case {"const": inner}:
            return str(inner)
        case {"enum": words}:
            return " or ".join(f"`{word}`" for word in words)
        case {"anyOf": kinds}:
            return " or ".join(_type(kind, names) for kind in kinds)
        case {"items": inner}:
            return f"list of {_type(inner, names)}"
        case {"additionalProperties": inner}:
            return f"object, each value {_type(inner, names)}"
        case _:
            return value["type"]


LINE = 118
"""Where a value that fits stands on one line, characters."""

_NESTED = frozenset({dict, list})

_encode = json.JSONEncoder().encode
_text = json.encoder.encode_basestring_ascii


def host_json(config: host_model.HostConfig) -> str:
    """The file's text."""
    return _laid_out(document(config), "") + "\n"


def _laid_out(value: Any, indent: str) -> str:  # noqa: ANN401 - JSON
    """JSON to be read: an item of a list, or what is short, on one line (and json's own indentation is slow)."""
    if not isinstance(value, dict | list):
        return _encode(value)
    inner = indent + " "
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        if _is_flat(items.values()) and len(text := _encode(value)) <= LINE - len(indent):
            return text
        parts = [
            f"{_text(key)}: {_text(member) if isinstance(member, str) else _laid_out(member, inner)}"
            for key, member in items.items()
        ]
        return f"{{\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}}}"
    entries = cast("list[Any]", value)
    if _is_flat(entries):
        return _encode(entries)
    if all(map(_is_row, entries)):  # one call for all of them: the encoder's start costs more than a row
        text = _encode(entries)[1:-1]
        if text.count("}, {") == len(entries) - 1:  # no text of a row holds what stands between two
            return f"[\n{inner}" + text.replace("}, {", f"}},\n{inner}{{") + f"\n{indent}]"
    parts = [_encode(entry) if _is_row(entry) else _laid_out(entry, inner) for entry in entries]
    return f"[\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}]"


def _is_flat(values: Iterable[Any]) -> bool:
    return _NESTED.isdisjoint(map(type, values))


def _is_row(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, dict) and _is_flat(cast("dict[str, Any]", value).values())


def document(config: host_model.HostConfig) -> Host:
    """The file's content."""
    job: Job = {"library": config.library, **_job(config.job)}
    if config.tenant_jobs:
        job["tenants"] = {tenant: _job(variables) for tenant, variables in config.tenant_jobs}
    host: Host = {
        "schema": SCHEMA,
        "network": config.network,
        "host": config.name,
        "model": config.model,
        "gpu": {"count": config.gpus, "model": config.gpu, "vendor": config.gpu_vendor},
        "router_advertisements": config.advertisements_by,
        "fabrics": {qos.fabric: _fabric(qos, config.bfd_detection_ms.get(qos.fabric)) for qos in config.qos},
        "nics": [_nic(nic) for nic in config.nics],
        "routes": [_route(route) for route in config.routes],
        "rules": [_rule(rule) for rule in config.rules],
        "sysctl": config.sysctl,
        "kernel_command_line": list(config.kernel_command_line),
        "job": job,
    }
    if files := driver_files(config):
        host["driver_files"] = files
    if versions := _versions(config.versions):
        host["versions"] = versions
    return host


def _versions(asked: AskedVersions) -> Versions:
    """Return the versions that are asked for."""
    versions: Versions = {}
    if asked.kernel:
        versions["kernel"] = asked.kernel
    if asked.gpu_driver:
        versions["gpu_driver"] = asked.gpu_driver
    if asked.collective_library:
        versions["collective_library"] = asked.collective_library
    if asked.nic_firmware:
        versions["nic_firmware"] = dict(asked.nic_firmware)
    if asked.nic_driver:
        versions["nic_driver"] = dict(asked.nic_driver)
    return versions


def _fabric(qos: host_model.HostQos, bfd_detection_ms: int | None) -> Fabric:
    roce: Roce = {
        "dscp": qos.dscp,
        "priority": qos.priority,
        "traffic_class": qos.traffic_class,
        "lossless": qos.lossless,
        "ecn": qos.ecn,
        "bandwidth_percent": qos.bandwidth_percent,
        "adaptive_routing": qos.adaptive_routing,
    }
    more = [dscp for dscp, priority in enumerate(qos.priorities) if priority == qos.priority and dscp != qos.dscp]
    if qos.lossless and more:
        roce["other_dscp"] = more
    if qos.clear_to_send_traffic_class is not None:
        roce["clear_to_send_traffic_class"] = qos.clear_to_send_traffic_class
    fabric: Fabric = {
        "bfd_detection_ms": bfd_detection_ms,
        "roce": roce,
        "cnp": {"dscp": qos.cnp_dscp, "priority": qos.cnp_priority},
    }
    if qos.other_lossless:
        fabric["other_lossless"] = {
            lossless_class.name: {
                "dscp": list(lossless_class.dscp),
                "priority": lossless_class.priority,
                "ecn": lossless_class.ecn,
                "bandwidth_percent": lossless_class.bandwidth_percent,
            }
            for lossless_class in qos.other_lossless
        }
    return fabric


def _job(job: Iterable[host_model.Variable]) -> TenantJob:
    variables = list(job)
    return {
        "environment": {variable.name: variable.value for variable in variables if not variable.resolve},
        "resolve": [variable.name for variable in variables if variable.resolve],
    }


def _route(host_route: host_model.HostRoute) -> Route:
    route: Route = {"table": host_route.table, "to": host_route.to, "dev": host_route.dev}
    if host_route.via:
        route["via"] = host_route.via
    return route


def _rule(host_rule: host_model.HostRule) -> Rule:
    rule: Rule = {"table": host_rule.table, "dev": host_rule.dev}
    if host_rule.from_:
        rule["from"] = host_rule.from_
    if host_rule.to:
        rule["to"] = host_rule.to
    if host_rule.priority is not None:
        rule["priority"] = host_rule.priority
    return rule


def _nic(nic: host_model.HostNic) -> Nic:
    document: Nic = {
        "name": nic.name,
        "netdev": nic.netdev,
        "rdma": nic.rdma,
        "rdma_port": nic.rdma_port,
        "mac": None if nic.mac_is_placeholder else nic.mac,
        "model": nic.model,
        "driver": nic.driver,
        "gpu": nic.gpu,
        "fabric": nic.fabric,
        "stripe": nic.stripe,
        "rail": nic.rail,
        "leaf": nic.leaf,
        "leaf_port": nic.leaf_port,
        "leaf_port_names": list(nic.leaf_port_names),
        "speed_gbps": nic.speed_gbps,
        "mtu": nic.mtu,
        "slaac": nic.slaac,
        "firmware": {option.name: option.value for option in nic.firmware if option.value},
        "addresses": [_address(nic, address) for address in nic.addresses],
    }
    if scoped := [option.name for option in nic.firmware if option.value and option.per_function]:
        document["firmware_per_function"] = scoped
    if nic.cable_m is not None:
        document["cable_m"] = nic.cable_m
    if nic.tenant:
        document["tenant"] = nic.tenant
    return document


def _address(nic: host_model.HostNic, address: host_model.HostAddress) -> Address:
    document: Address = {
        "path": address.path,
        "color": address.color,
        "color_name": address.color_name,
        "prefix": address.prefix,
        "gateway": address.gateway,
        "address": None if nic.mac_is_placeholder and address.origin == "slaac" else address.address,
        "origin": address.origin,
        "table": address.table,
        "table_name": address.table_name,
    }
    if address.traffic_class is not None:
        document["traffic_class"] = address.traffic_class
    if address.service_level is not None:
        document["service_level"] = address.service_level
    return document
