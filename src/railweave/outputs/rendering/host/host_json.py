"""``host.json``: what a server is told, for ``railweave host``, the net plug-in and the preflight.

``document`` has its form; docs/host-json.md and the JSON Schema beside it follow from that.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from railweave.outputs.rendering.host.document import SCHEMA
from railweave.outputs.rendering.host.nic_qos import driver_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.host_model import (
        HostAddress,
        HostConfig,
        HostNic,
        HostQos,
        HostRoute,
        HostRule,
        Variable,
    )
    from railweave.model.device.host_model import Versions as AskedVersions
    from railweave.outputs.rendering.host.document import (
        Address,
        Fabric,
        Host,
        Job,
        Nic,
        Roce,
        Route,
        Rule,
        TenantJob,
        Versions,
    )

LINE = 118
"""Where a value that fits stands on one line, characters."""

_NESTED = frozenset({dict, list})

_encode = json.JSONEncoder().encode
_text = json.encoder.encode_basestring_ascii


def host_json(config: HostConfig) -> str:
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
            f"{_text(key)}: {_text(one) if isinstance(one, str) else _laid_out(one, inner)}"
            for key, one in items.items()
        ]
        return f"{{\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}}}"
    entries = cast("list[Any]", value)
    if _is_flat(entries):
        return _encode(entries)
    if all(map(_is_row, entries)):  # one call for all of them: the encoder's start costs more than a row
        text = _encode(entries)[1:-1]
        if text.count("}, {") == len(entries) - 1:  # no text of a row holds what stands between two
            return f"[\n{inner}" + text.replace("}, {", f"}},\n{inner}{{") + f"\n{indent}]"
    parts = [_encode(one) if _is_row(one) else _laid_out(one, inner) for one in entries]
    return f"[\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}]"


def _is_flat(values: Iterable[Any]) -> bool:
    return _NESTED.isdisjoint(map(type, values))


def _is_row(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, dict) and _is_flat(cast("dict[str, Any]", value).values())


def document(config: HostConfig) -> Host:
    """The file's content."""
    job: Job = {"library": config.library, **_job(config.job)}
    if config.tenant_jobs:
        job["tenants"] = {tenant: _job(one) for tenant, one in config.tenant_jobs}
    host: Host = {
        "schema": SCHEMA,
        "network": config.network,
        "host": config.name,
        "model": config.model,
        "gpu": {"count": config.gpus, "model": config.gpu, "vendor": config.gpu_vendor},
        "router_advertisements": config.advertisements_by,
        "fabrics": {qos.fabric: _fabric(qos, config.bfd_detection_ms.get(qos.fabric)) for qos in config.qos},
        "nics": [_nic(nic) for nic in config.nics],
        "routes": [_route(one) for one in config.routes],
        "rules": [_rule(one) for one in config.rules],
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
    """What is asked for."""
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


def _fabric(qos: HostQos, bfd_detection_ms: int | None) -> Fabric:
    roce: Roce = {
        "dscp": qos.dscp,
        "priority": qos.priority,
        "traffic_class": qos.traffic_class,
        "lossless": qos.lossless,
        "ecn": qos.ecn,
        "bandwidth_percent": qos.bandwidth_percent,
        "adaptive_routing": qos.adaptive_routing,
    }
    more = [one for one, priority in enumerate(qos.priorities) if priority == qos.priority and one != qos.dscp]
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
            one.name: {
                "dscp": list(one.dscp),
                "priority": one.priority,
                "ecn": one.ecn,
                "bandwidth_percent": one.bandwidth_percent,
            }
            for one in qos.other_lossless
        }
    return fabric


def _job(job: Iterable[Variable]) -> TenantJob:
    variables = list(job)
    return {
        "environment": {one.name: one.value for one in variables if not one.resolve},
        "resolve": [one.name for one in variables if one.resolve],
    }


def _route(one: HostRoute) -> Route:
    route: Route = {"table": one.table, "to": one.to, "dev": one.dev}
    if one.via:
        route["via"] = one.via
    return route


def _rule(one: HostRule) -> Rule:
    rule: Rule = {"table": one.table, "dev": one.dev}
    if one.from_:
        rule["from"] = one.from_
    if one.to:
        rule["to"] = one.to
    if one.priority is not None:
        rule["priority"] = one.priority
    return rule


def _nic(nic: HostNic) -> Nic:
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
        "firmware": {one.name: one.value for one in nic.firmware if one.value},
        "addresses": [_address(nic, one) for one in nic.addresses],
    }
    if scoped := [one.name for one in nic.firmware if one.value and one.per_function]:
        document["firmware_per_function"] = scoped
    if nic.cable_m is not None:
        document["cable_m"] = nic.cable_m
    if nic.tenant:
        document["tenant"] = nic.tenant
    return document


def _address(nic: HostNic, one: HostAddress) -> Address:
    document: Address = {
        "path": one.path,
        "color": one.color,
        "color_name": one.color_name,
        "prefix": one.prefix,
        "gateway": one.gateway,
        "address": None if nic.mac_is_placeholder and one.origin == "slaac" else one.address,
        "origin": one.origin,
        "table": one.table,
        "table_name": one.table_name,
    }
    if one.traffic_class is not None:
        document["traffic_class"] = one.traffic_class
    if one.service_level is not None:
        document["service_level"] = one.service_level
    return document
