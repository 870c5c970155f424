"""The JSON Schema of ``host.json``, and its reference page; both are written by ``make docs``."""

from __future__ import annotations

from typing import Any

from railweave.render.host.host_json import SCHEMA

Schema = dict[str, Any]


def _value(kind: str | list[str], description: str, **more: object) -> Schema:
    return {"type": kind, "description": description, **more}


def _object(description: str, properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return _value("object", description, properties=properties, required=required)


def _list(description: str, items: Schema) -> Schema:
    return _value("array", description, items=items)


_ADDRESS = _object(
    "an address of the NIC, and what routes it",
    {
        "path": _value("integer", "number of the address on its NIC, from 1", minimum=1),
        "color": _value(["integer", "null"], "the path color's number N of color:0:N; null: paths are not colored"),
        "color_name": _value("string", "the path color's name; `default` where paths are not colored"),
        "prefix": _value("string", "the server prefix it is in"),
        "gateway": _value("string", "the leaf's address in that prefix"),
        "address": _value(["string", "null"], "the address; null: it follows from a MAC that is not known yet"),
        "origin": {"enum": ["slaac", "static"], "description": "how it comes to be"},
        "table": _value("integer", "number of its routing table"),
        "table_name": _value("string", "name of that table"),
    },
)

_NIC = _object(
    "a NIC on a fabric",
    {
        "name": _value("string", "its name in the design"),
        "netdev": _value("string", "its Linux interface"),
        "rdma": _value("string", "its RDMA device"),
        "rdma_port": _value("integer", "port of the RDMA device"),
        "mac": _value(["string", "null"], "MAC address; null: not known yet"),
        "model": _value("string", "catalog name"),
        "driver": _value("string", "Linux driver of the interface"),
        "gpu": _value(["integer", "null"], "the GPU beside it, from 0; null: none of its own"),
        "fabric": _value("string", "the fabric it is on"),
        "stripe": _value("string", "the stripe it is in"),
        "rail": _value("integer", "its rail, from 1"),
        "leaf": _value("string", "the leaf it is cabled to"),
        "leaf_port": _value("string", "the port there"),
        "speed_gbps": _value("integer", "link speed, 10^9 bit/s"),
        "mtu": _value("integer", "MTU, bytes of an IP packet"),
        "firmware": _value(
            "object",
            "settings wanted in its flash, as the vendor's tool names them",
            additionalProperties={"type": "string"},
        ),
        "slaac": _value("boolean", "whether its addresses are formed from router advertisements"),
        "addresses": _list("its addresses, one per path", _ADDRESS),
        "tenant": _value("string", "the tenant it belongs to; absent: none"),
    },
    ("tenant",),
)

_JOB = _object(
    "environment of a tenant's jobs",
    {
        "environment": _value("object", "value by variable", additionalProperties={"type": "string"}),
        "resolve": _list("variables whose value is found on the server at launch", {"type": "string"}),
    },
)

_FABRIC = _object(
    "what the NICs of a fabric must agree on with its switches",
    {
        "bfd_detection_ms": _value(
            ["integer", "null"], "after how many ms the fabric notices a silent neighbor; null: no BFD"
        ),
        "roce": _object(
            "RDMA data",
            {
                "dscp": _value("integer", "DSCP"),
                "priority": _value("integer", "PFC priority"),
                "traffic_class": _value("integer", "the whole TOS or traffic class byte: DSCP x 4 + ECT(0)"),
                "lossless": _value("boolean", "whether the switches pause it (PFC)"),
                "ecn": _value("boolean", "whether the switches mark it, so that senders slow down"),
                "bandwidth_percent": _value("integer", "its share in the NIC's own scheduler"),
                "adaptive_routing": _value("boolean", "whether the fabric may deliver packets out of order"),
            },
        ),
        "cnp": _object(
            "congestion notification packets",
            {"dscp": _value("integer", "DSCP"), "priority": _value("integer", "802.1p priority on the NIC")},
        ),
    },
)

_ROUTE = _object(
    "a route",
    {
        "table": _value("integer", "routing table"),
        "to": _value("string", "`default`, or a prefix"),
        "dev": _value("string", "interface"),
        "via": _value("string", "next hop; absent: on the link"),
    },
    ("via",),
)

_RULE = _object(
    "a rule that chooses a table",
    {
        "table": _value("integer", "the table it chooses"),
        "dev": _value("string", "the interface it belongs to"),
        "from": _value("string", "source address or prefix"),
        "to": _value("string", "destination prefix"),
        "priority": _value("integer", "priority; absent: the kernel's choice"),
    },
    ("from", "to", "priority"),
)

HOST_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "host.json",
    **_object(
        "what a server is told",
        {
            "schema": {"const": SCHEMA, "description": "version of this file's form"},
            "network": _value("string", "name of the network"),
            "host": _value("string", "name of the server"),
            "model": _value("string", "catalog name of the server model"),
            "gpu": _object(
                "its GPUs",
                {
                    "count": _value("integer", "how many"),
                    "model": _value("string", "which"),
                    "vendor": {"enum": ["NVIDIA", "AMD", ""], "description": "of whom; empty: a server without GPUs"},
                },
            ),
            "router_advertisements": {
                "enum": ["networkd", "kernel"],
                "description": "who forms addresses from router advertisements",
            },
            "fabrics": _value("object", "by name of the fabric", additionalProperties=_FABRIC),
            "nics": _list("its NICs, by fabric and rail", _NIC),
            "routes": _list("routes of the source-routing tables", _ROUTE),
            "rules": _list("rules that choose a table", _RULE),
            "sysctl": _value("object", "kernel parameters by name", additionalProperties={"type": "string"}),
            "kernel_command_line": _list("parameters of the kernel's command line", {"type": "string"}),
            "job": _object(
                "environment of a collective job",
                {
                    "library": {"enum": ["NCCL", "RCCL"], "description": "whose variables they are"},
                    "environment": _value("object", "value by variable", additionalProperties={"type": "string"}),
                    "resolve": _list("variables whose value is found on the server at launch", {"type": "string"}),
                    "tenants": _value(
                        "object",
                        "where GPUs belong to several tenants: `environment` and `resolve` of each tenant's jobs, by its name",
                        additionalProperties=_JOB,
                    ),
                },
                ("tenants",),
            ),
        },
    ),
}


def host_reference() -> str:
    """The reference as Markdown tables, one per object."""
    lines: list[str] = []
    _section(lines, "host.json", HOST_SCHEMA)
    return "\n".join(lines)


def _section(lines: list[str], title: str, schema: Schema) -> None:
    lines += [f"## `{title}`", "", "| key | type | meaning |", "|---|---|---|"]
    below: list[tuple[str, Schema]] = []
    for name, one in schema["properties"].items():
        inner, label = _inside(one)
        absent = "" if name in schema["required"] else ", may be absent"
        lines.append(f"| `{name}` | {label}{absent} | {one['description']} |")
        if inner:
            below.append((name, inner))
    lines.append("")
    for name, inner in below:
        _section(lines, f"{title} · {name}", inner)


def _inside(one: Schema) -> tuple[Schema | None, str]:
    """The object below a key, if any, and the type in words."""
    if "const" in one:
        return None, str(one["const"])
    if "enum" in one:
        return None, " or ".join(f"`{word}`" for word in one["enum"])
    inner: Schema = one.get("items") or one.get("additionalProperties") or one
    kind: Any = one["type"]
    label = kind if isinstance(kind, str) else " or ".join(kind)
    return inner if "properties" in inner else None, label.replace("array", "list")
