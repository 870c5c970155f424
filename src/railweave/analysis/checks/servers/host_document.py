"""``host.json`` and ``tuner.json``: what the server's own program and the jobs' plugin read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.checks.located import Located, read_json
from railweave.analysis.checks.servers.entries import Entry, Kind
from railweave.analysis.checks.servers.rules import ADDRESS, FIRMWARE, KERNEL, MTU, NCCL, NIC, QOS, ROUTE, RULE

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = Kind("server", NIC, {"kernel_command_line": KERNEL, "router_advertisements": ADDRESS})
FABRIC = Kind("QoS of fabric", QOS)
NIC_ = Kind("NIC", NIC, {"mtu": MTU, "slaac": ADDRESS}, {"mtu": "MTU"})
FIRMWARE_ = Kind("setting", FIRMWARE)
ADDRESS_ = Kind(
    "address", ADDRESS, {"traffic_class": QOS, "service_level": QOS, "table": ROUTE, "table_name": ROUTE, "gateway": ROUTE}
)  # fmt: skip
ROUTE_ = Kind("route", ROUTE, names={"via": "next hop (via)", "to": "destination (to)"})
RULE_ = Kind("rule", RULE, names={"from": "source (from)", "to": "destination (to)"})
PARAMETER = Kind("kernel parameter", KERNEL)
VARIABLE = Kind("variable", NCCL)
JOB = Kind("job", NCCL)
TABLE = Kind("tuner table", NCCL)
ROW = Kind("row of the tuner table for", NCCL, ordered=True)

_ROW_KEYS = ("collective", "ranks", "nodes", "max_bytes")
_OWN = ("fabrics", "nics", "routes", "rules", "sysctl", "job")


def read(text: str) -> list[Entry]:
    """What either file states. Raises ``RenderError`` with the line of what cannot be read."""
    document = read_json(text)
    return list(_tuner(document) if "rows" in document.named() else _host(document))


def _tuner(document: Located) -> Iterator[Entry]:
    yield Entry(TABLE, document.fields(["rows"]), document.line, "settings", lines=document.lines())
    for row in document.named()["rows"].items():
        key = " ".join(row.named()[name].text for name in _ROW_KEYS if name in row.named())
        yield Entry(ROW, row.fields(), row.line, key or row.text, lines=row.lines())


def _host(document: Located) -> Iterator[Entry]:
    named = {name: Located("", document.line) for name in _OWN} | document.named()
    own = {name: one for name, one in document.named().items() if name not in _OWN}
    flat = dict(_flat(Located(own, document.line)))
    yield Entry(
        SERVER, {name: one.text for name, one in flat.items()}, 1, "", lines={n: one.line for n, one in flat.items()}
    )
    for name, fabric in named["fabrics"].named().items():
        inner = dict(_flat(fabric))
        lines = {key: one.line for key, one in inner.items()}
        yield Entry(FABRIC, {key: one.text for key, one in inner.items()}, fabric.line, name, lines=lines)
    for nic in named["nics"].items():
        yield from _nic(nic)
    for kind, key in ((ROUTE_, "routes"), (RULE_, "rules")):
        for one in named[key].items() if isinstance(named[key].data, list) else ():
            dev = one.named().get("dev")
            whose = dev.text if dev else ""
            yield Entry(kind, one.fields(["dev"]) or {"value": one.text}, one.line, whose=whose, lines=one.lines())
    yield from _values(PARAMETER, named["sysctl"])
    yield from _job(named["job"], "")


def _nic(nic: Located) -> Iterator[Entry]:
    fields = nic.fields(["firmware", "addresses"])
    name = fields.get("netdev", nic.text)
    yield Entry(NIC_, fields, nic.line, name, lines=nic.lines())
    inner = nic.named()
    if "firmware" in inner:
        yield from _values(FIRMWARE_, inner["firmware"], name)
    for one in inner["addresses"].items() if "addresses" in inner else ():
        own = one.fields()
        yield Entry(ADDRESS_, own, one.line, f"of path {own.get('path', '')}", name, one.lines())


def _job(job: Located, tenant: str) -> Iterator[Entry]:
    inner = job.named()
    whose = f"tenant {tenant}" if tenant else ""
    fields = job.fields(["environment", "tenants"])
    if fields:
        yield Entry(JOB, fields, job.line, "settings", whose, job.lines())
    if "environment" in inner:
        yield from _values(VARIABLE, inner["environment"], whose)
    for name, one in inner["tenants"].named().items() if "tenants" in inner else ():
        yield from _job(one, name)


def _values(kind: Kind, one: Located, whose: str = "") -> Iterator[Entry]:
    for name, value in one.named().items():
        yield Entry(kind, {"value": value.text}, value.line, name, whose)


def _flat(one: Located, above: str = "") -> Iterator[tuple[str, Located]]:
    """Named values inside named values, by their names with dots between."""
    for name, value in one.named().items():
        if isinstance(value.data, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
