"""The file ``host.json``: a server's configuration for ``railweave host``, the net plugin and the checks before a job.

``document`` returns the content of the file. docs/folder.md and the JSON Schema next to it are derived from the
classes here.
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
"""The version of the format of ``host.json``. It increases if a program for the old format would misread the new one."""

described = with_config(ConfigDict(use_attribute_docstrings=True))


@described
class Gpus(TypedDict):
    """The GPUs of a server."""

    count: int
    """number of GPUs"""
    model: str
    """GPU model"""
    vendor: Literal["NVIDIA", "AMD", ""]
    """GPU vendor; empty for a server without GPUs"""
    domain: NotRequired[int]
    """number of GPUs of a full NVLink domain, if it joins several servers"""


@described
class Roce(TypedDict):
    """The QoS of RDMA data."""

    dscp: int
    """DSCP"""
    priority: int
    """PFC priority"""
    traffic_class: int
    """value of the TOS or traffic class byte: DSCP x 4 + ECT(0)"""
    lossless: bool
    """true if switches pause this traffic (PFC)"""
    ecn: bool
    """true if switches mark this traffic, so that senders slow down"""
    bandwidth_percent: int
    """bandwidth share in the NIC's own scheduler, percent"""
    adaptive_routing: bool
    """true if the fabric may deliver packets out of order"""
    other_dscp: NotRequired[list[int]]
    """further DSCPs of the same class; absent if there are none"""
    clear_to_send_traffic_class: NotRequired[int]
    """traffic class byte of clear-to-send messages and acknowledgements; absent if it is that of data"""


@described
class Cnp(TypedDict):
    """The QoS of congestion notification packets."""

    dscp: int
    """DSCP"""
    priority: int
    """802.1p priority on the NIC"""


@described
class LosslessClass(TypedDict):
    """A lossless class other than RDMA data."""

    dscp: list[int]
    """DSCPs"""
    priority: int
    """PFC priority"""
    ecn: bool
    """true if switches mark this traffic"""
    bandwidth_percent: int
    """bandwidth share in the NIC's own scheduler, percent"""


@described
class Fabric(TypedDict):
    """The settings on which the NICs of a fabric must agree with its switches."""

    bfd_detection_ms: int | None
    """time after which the fabric detects a silent neighbor, ms; null without BFD"""
    roce: Roce
    """RDMA data"""
    cnp: Cnp
    """congestion notification packets"""
    other_lossless: NotRequired[dict[str, LosslessClass]]
    """lossless classes other than RDMA data, by name; absent if there are none"""


@described
class Address(TypedDict):
    """An address of a NIC, with its gateway and routing table."""

    path: Annotated[int, Field(ge=1)]
    """number of the address on its NIC, from 1"""
    color: int | None
    """number N of the path color color:0:N; null without path colors"""
    color_name: str
    """name of the path color; `default` without path colors"""
    spine: NotRequired[str]
    """the spine of the path color, which the net plugin names in its log; absent if the color has several spines"""
    prefix: str
    """server prefix that contains the address"""
    gateway: str
    """the leaf's address in that prefix"""
    address: str | None
    """IP address; null if it depends on a MAC address that is not known yet"""
    origin: Literal["slaac", "static"]
    """source of the address: router advertisements or configuration"""
    table: int
    """number of the routing table"""
    table_name: str
    """name of the routing table"""
    traffic_class: NotRequired[int]
    """TOS or traffic class byte of this color's data; absent if it is the fabric's"""
    service_level: NotRequired[int]
    """service level of this color; absent if 0"""


@described
class Nic(TypedDict):
    """A NIC on a fabric."""

    name: str
    """name in the design"""
    netdev: str
    """Linux interface"""
    rdma: str
    """RDMA device"""
    rdma_port: int
    """port of the RDMA device"""
    mac: str | None
    """MAC address; null if not known yet"""
    model: str
    """name of the NIC model in the catalog"""
    driver: str
    """Linux driver of the interface"""
    gpu: int | None
    """GPU that the NIC serves, from 0; null if it serves none"""
    fabric: str
    """fabric that the NIC is on"""
    stripe: str
    """stripe that the NIC is in"""
    rail: int
    """rail of the NIC, from 1"""
    leaf: str
    """leaf that the NIC is cabled to"""
    leaf_port: str
    """port on that leaf"""
    leaf_port_names: list[str]
    """other names by which the leaf may announce that port, such as its alias and its description"""
    speed_gbps: int
    """link speed, 10^9 bit/s"""
    cable_m: NotRequired[int]
    """cable length in m, rounded up; absent if not known"""
    optic: NotRequired[str]
    """catalog name of the optic in the NIC's port; absent for copper and if its wavelengths are not known"""
    wavelength_nm: NotRequired[list[float]]
    """shortest and longest wavelength in nm that the optic may send; absent with `optic`"""
    mtu: int
    """MTU: largest IP packet in bytes"""
    slaac: bool
    """true if the NIC forms its addresses from router advertisements"""
    firmware: dict[str, str]
    """wanted settings in the NIC's flash, by their names in the vendor's tool"""
    firmware_per_function: NotRequired[list[str]]
    """flash settings that each PCI function of the card has separately; the vendor's tool reads those of the NIC's function"""
    addresses: list[Address]
    """addresses of the NIC, one per path"""
    tenant: NotRequired[str]
    """tenant that the NIC belongs to; absent if there is none"""


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
    """next hop; absent if the destination is on the link"""


_From = TypedDict("_From", {"from": NotRequired[Annotated[str, Field(description="source address or prefix")]]})
"""The key ``from`` of a rule. Python reserves the word, so a class cannot declare a field of this name."""


@described
class Rule(_From):
    """A rule that selects a routing table."""

    table: int
    """routing table to use"""
    dev: str
    """interface that the rule belongs to"""
    to: NotRequired[str]
    """destination prefix"""
    priority: NotRequired[int]
    """priority; absent if the kernel chooses it"""


@described
class TenantJob(TypedDict):
    """The environment of a tenant's jobs."""

    environment: dict[str, str]
    """values by variable name"""
    resolve: list[str]
    """variables whose values are looked up on the server at launch"""


@described
class Job(TypedDict):
    """The environment of a collective job."""

    library: Literal["NCCL", "RCCL"]
    """library that reads the variables"""
    environment: dict[str, str]
    """values by variable name"""
    resolve: list[str]
    """variables whose values are looked up on the server at launch"""
    tenants: NotRequired[dict[str, TenantJob]]
    """`environment` and `resolve` of each tenant's jobs, by tenant name; present if GPUs belong to several tenants"""


@described
class Versions(TypedDict):
    """The software versions that the server should run. Versions that are absent are not compared."""

    kernel: NotRequired[str]
    """release of the Linux kernel"""
    gpu_driver: NotRequired[str]
    """version of the GPU driver"""
    collective_library: NotRequired[str]
    """version of NCCL or RCCL"""
    nic_firmware: NotRequired[dict[str, str]]
    """firmware version by NIC model"""
    nic_driver: NotRequired[dict[str, str]]
    """driver version by driver name"""
    software: NotRequired[dict[str, str]]
    """release that `railweave host setup` installs, by the name of the software"""


@described
class Host(TypedDict):
    """The configuration of a server."""

    schema: Literal[1]
    """version of the file format"""
    network: str
    """name of the network"""
    host: str
    """name of the server"""
    model: str
    """catalog name of the server model"""
    gpu: Gpus
    """GPUs of the server"""
    router_advertisements: Literal["networkd", "kernel"]
    """program that forms addresses from router advertisements"""
    fabrics: dict[str, Fabric]
    """settings of each fabric, by fabric name"""
    nics: list[Nic]
    """NICs of the server, by fabric and rail"""
    routes: list[Route]
    """routes of the source-routing tables"""
    rules: list[Rule]
    """rules that select a routing table"""
    sysctl: dict[str, str]
    """kernel parameters by name"""
    kernel_command_line: list[str]
    """parameters of the kernel's command line"""
    driver_files: NotRequired[dict[str, dict[str, str]]]
    """settings in files that NIC drivers read, by path of the file"""
    versions: NotRequired[Versions]
    """software versions that the server should run; absent if the design requires none"""
    memory_gib: NotRequired[int]
    """memory of the server model in GiB; absent if the catalog does not have it"""
    job: Job
    """environment of a collective job"""


def host_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``host.json`` (draft 2020-12)."""
    schema = TypeAdapter(Host).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "host.json"}


def host_reference() -> str:
    """Return the reference as Markdown tables: one for the file, then one for every object in it."""
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
    """Return a description of a schema's type, with a link if the type is an object. ``names`` collects the objects that are linked."""
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
"""The largest number of characters of a line. A value that is longer is written on several lines."""

_NESTED = frozenset({dict, list})

_encode = json.JSONEncoder().encode
_text = json.encoder.encode_basestring_ascii


def host_json(config: host_model.HostConfig) -> str:
    """Return the text of host.json."""
    return _laid_out(document(config), "") + "\n"


def _laid_out(value: Any, indent: str) -> str:  # noqa: ANN401 - JSON
    """Return a value as readable JSON, with list items and short values on one line. Lines after the first begin with ``indent``.

    Python's own indentation is too slow.
    """
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
    if all(map(_is_row, entries)):  # one call for all: starting the encoder costs more than encoding a row
        text = _encode(entries)[1:-1]
        if text.count("}, {") == len(entries) - 1:  # no text in a row contains the separator
            return f"[\n{inner}" + text.replace("}, {", f"}},\n{inner}{{") + f"\n{indent}]"
    parts = [_encode(entry) if _is_row(entry) else _laid_out(entry, inner) for entry in entries]
    return f"[\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}]"


def _is_flat(values: Iterable[Any]) -> bool:
    return _NESTED.isdisjoint(map(type, values))


def _is_row(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, dict) and _is_flat(cast("dict[str, Any]", value).values())


def _gpus(config: host_model.HostConfig) -> Gpus:
    gpus: Gpus = {"count": config.gpus, "model": config.gpu, "vendor": config.gpu_vendor}
    if config.domain_gpus is not None:
        gpus["domain"] = config.domain_gpus
    return gpus


def document(config: host_model.HostConfig) -> Host:
    """Return the content of host.json."""
    job: Job = {"library": config.library, **_job(config.job)}
    if config.tenant_jobs:
        job["tenants"] = {tenant: _job(variables) for tenant, variables in config.tenant_jobs}
    host: Host = {
        "schema": SCHEMA,
        "network": config.network,
        "host": config.name,
        "model": config.model,
        "gpu": _gpus(config),
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
    if config.memory_gib is not None:
        host["memory_gib"] = config.memory_gib
    if versions := _versions(config.versions):
        host["versions"] = versions
    return host


def _versions(asked: AskedVersions) -> Versions:
    """Return the software versions ``asked`` that the design requires, in the form of ``host.json``."""
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
    if asked.software:
        versions["software"] = dict(asked.software)
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
    if nic.wavelength_nm is not None:
        document["optic"] = nic.optic
        document["wavelength_nm"] = list(nic.wavelength_nm)
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
    if len(address.spines) == 1:
        document["spine"] = address.spines[0]
    if address.traffic_class is not None:
        document["traffic_class"] = address.traffic_class
    if address.service_level is not None:
        document["service_level"] = address.service_level
    return document
