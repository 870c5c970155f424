"""Readers of the files of a server, one reader per file type, and the comparison of each file with the designed file."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from railweave.analysis.checks.located import LocatedValue, read_json, read_yaml
from railweave.analysis.checks.servers import entries, script
from railweave.analysis.checks.servers.script import code_lines
from railweave.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.model.findings.registry import Rule


NETWORK = entries.Kind("network", entries.SERVICE)
INTERFACE = entries.Kind(
    "interface", entries.ADDRESS, {"mtu": entries.MTU, "ignore-carrier": entries.SERVICE}, {"mtu": "MTU"}
)
ADDRESS_OF = entries.Kind("address", entries.ADDRESS, names={"length": "prefix length"})
ROUTE_OF = entries.Kind(
    "route", entries.ROUTE, {"mtu": entries.MTU}, {"via": "next hop (via)", "to": "destination (to)"}
)
RULE_OF = entries.Kind("rule", entries.RULE, names={"from": "source (from)", "to": "destination (to)"})

_KEPT = ("addresses", "routes", "routing-policy")


def read_netplan(text: str) -> list[entries.Entry]:
    """Return the settings of a netplan file, as one entry (fields with their lines) for each interface, address, route and rule.

    One more entry holds the general settings. Raises ``RenderError``, with the line, if the file cannot be read.
    """
    whole = read_yaml(text)
    network = whole.named().get("network")
    if network is None:
        raise RenderError("there is no `network:` in it", 1)
    beside = entries.Entry(NETWORK, whole.fields(["network"]), whole.line, "file", lines=whole.lines())
    return [beside, *_entries(network)]


def _entries(network: LocatedValue) -> Iterator[entries.Entry]:
    fields = network.fields(["ethernets"])
    yield entries.Entry(NETWORK, fields, network.line, "settings", lines=network.lines())
    ethernets = network.named().get("ethernets")
    for name, interface in ethernets.named().items() if ethernets else ():
        yield entries.Entry(INTERFACE, interface.fields(_KEPT), interface.line, name, lines=interface.lines())
        inner = interface.named()
        for address in inner["addresses"].items() if "addresses" in inner else ():
            yield _address(name, address)
        for kind, key in ((ROUTE_OF, "routes"), (RULE_OF, "routing-policy")):
            for entry in inner[key].items() if key in inner else ():
                yield entries.Entry(
                    kind, entry.fields() or {"value": entry.text}, entry.line, whose=name, lines=entry.lines()
                )


def _address(interface: str, located: LocatedValue) -> entries.Entry:
    address, _, length = located.text.partition("/")
    return entries.Entry(ADDRESS_OF, {"address": address, "length": length}, located.line, whose=interface)


NAME = entries.Kind("name", entries.NIC)
DEVICE = entries.Kind("RDMA device name", entries.NIC)
OTHER = entries.Kind("udev rule", entries.NIC, ordered=True)

_WORD = re.compile(r'\s*([A-Za-z_]+(?:\{[^}]*\})?)\s*(==|!=|\+=|-=|:=|=)\s*(e?"(?:[^"\\]|\\.)*")\s*(?:,|$)')
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}|MAC")
_RENAME = re.compile(r"rdma_rename\s.*\s(\S+)")
_DEVICE = re.compile(r"(?<=^rdma_rename %k NAME_FIXED )\S+$")


def rules(text: str) -> list[entries.Entry]:
    """Return the rules of a udev file, as one entry (key, and fields with their lines) for each rule.

    The key is the interface or RDMA device name that the rule sets, or else the text of the rule.
    """
    made: list[entries.Entry] = []
    for number, line in _udev_lines(text):
        words = [(name + operator, value.strip('"')) for name, operator, value in _WORD.findall(line)]
        whole = " ".join(line.split()) if _WORD.sub("", line).strip() else ""
        name = next((value for key, value in words if key == "NAME="), None)
        device = next((match[1] for _, value in words if (match := _RENAME.fullmatch(value))), None)
        if not words or whole or (name is None and device is None):
            made.append(entries.Entry(OTHER, {"rule": line}, number, line))
            continue
        macs = [match[0].lower() for _, value in words if (match := _MAC.search(value))]
        others = [key + _MAC.sub("MAC", _DEVICE.sub("NAME", value)) for key, value in words if key != "NAME="]
        fields = {"MAC": " ".join(macs), "conditions": " ".join(others)}
        made.append(entries.Entry(NAME if device is None else DEVICE, fields, number, device or name))
    return made


def _udev_lines(text: str) -> Iterator[tuple[int, str]]:
    before, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not before and (not line.strip() or line.lstrip().startswith("#")):
            continue
        first = first or number
        if line.endswith("\\"):
            before += line[:-1]
            continue
        yield first, (before + line).strip()
        before, first = "", 0
    if before:
        yield first, before.strip()


SETTING = entries.Kind("setting", entries.SERVICE)
MTU_SETTING = entries.Kind("setting", entries.MTU)
_SAID_ONLY = frozenset({"Description", "Documentation"})
"""Settings of a systemd unit that have no effect, because they only describe the unit."""
_SECTION = re.compile(r"\[(.+)\]")


def unit(text: str) -> list[entries.Entry]:
    """Return the settings of a systemd unit file, as one entry for each setting: the key is its name, the field its value.

    The values of a repeated setting are joined; an empty value clears them (systemd.syntax(7)).
    """
    values_of: dict[tuple[str, str], list[tuple[int, str]]] = {}
    section = ""
    for number, line in _unit_lines(text):
        match = _SECTION.fullmatch(line)
        if match:
            section = match[1]
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        values = values_of.setdefault((section, name), [])
        if equals and not value:
            values.clear()
        values.append((number, value if equals else "(no value)"))
    return [
        entries.Entry(
            MTU_SETTING if name == "MTUBytes" else SETTING,
            {"value": " ".join(value for _, value in values)},
            values[-1][0],
            name,
            f"[{section}]",
        )
        for (section, name), values in values_of.items()
        if name not in _SAID_ONLY
    ]


def _unit_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines of a systemd unit file as (line number, text), without comments. Continued lines are joined.

    A line is continued if it ends in a backslash.
    """
    made: list[tuple[int, str]] = []
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        inner = line.strip()
        if inner[:1] in {"#", ";"} or (not inner and not goes_on):
            continue
        whole = inner.removesuffix("\\").strip()
        if goes_on:
            first, before = made[-1]
            made[-1] = (first, f"{before} {whole}".strip())
        else:
            made.append((number, whole))
        goes_on = inner.endswith("\\")
    return made


PARAMETER = entries.Kind("kernel parameter", entries.KERNEL)
LIMIT = entries.Kind("limit", entries.KERNEL)
TABLE = entries.Kind("name of routing table", entries.ROUTE)
MEMBER = entries.Kind("server", entries.NCCL, ordered=True)
DRIVER_SETTING = entries.Kind("setting", entries.QOS)


def sysctl(text: str) -> list[entries.Entry]:
    """Return the lines ``name = value`` of a ``sysctl.conf``, as one entry for each name: the key is the name, the field its last value.

    A dash before the name means that errors are ignored (sysctl.conf(5)). The dash is removed.
    """
    parameters: dict[str, entries.Entry] = {}
    for number, line in _lines(text, "#;"):
        name, equals, value = line.partition("=")
        key = name.strip().removeprefix("-").strip()
        parameters.pop(key, None)
        parameters[key] = entries.Entry(
            PARAMETER, {"value": " ".join(value.split()) if equals else "(no value)"}, number, key
        )
    return list(parameters.values())


def limits(text: str) -> list[entries.Entry]:
    """Return the lines of a ``limits.conf`` as entries: the key is user or group, soft or hard, and resource; the field is the limit.

    If a key is repeated, the last limit applies (limits.conf(5)).
    """
    limit_entries: dict[str, entries.Entry] = {}
    for number, line in _lines(text, "#"):
        *words, value = line.split()
        key = " ".join(words) or value
        limit_entries[key] = entries.Entry(LIMIT, {"value": value}, number, key)
    return list(limit_entries.values())


def rt_tables(text: str) -> list[entries.Entry]:
    """Return the lines of ``rt_tables.conf`` as entries: the key is the number of a routing table, and the field its name."""
    tables: list[entries.Entry] = []
    for number, line in _lines(text, "#"):
        table, _, name = line.partition("#")[0].strip().replace("\t", " ").partition(" ")
        tables.append(entries.Entry(TABLE, {"value": name.strip()}, number, table))
    return tables


def hostfile(text: str) -> list[entries.Entry]:
    """Return the lines of an MPI ``hostfile`` as entries: the key is a server, and the fields are settings such as ``slots=8``.

    The order of lines matters, because it determines the MPI ranks.
    """
    members: list[entries.Entry] = []
    for number, line in _lines(text, "#"):
        name, *words = line.split()
        fields = {key: value for key, _, value in (word.partition("=") for word in words)}
        members.append(entries.Entry(MEMBER, fields, number, name))
    return members


def settings(text: str) -> list[entries.Entry]:
    """Return the ``NAME=value`` lines of a file for a NIC's driver as entries: the key is the name, the field its last value."""
    setting_entries: dict[str, entries.Entry] = {}
    for number, line in _lines(text, "#"):
        name, equals, value = line.partition("=")
        setting_entries[name.strip()] = entries.Entry(
            DRIVER_SETTING, {"value": value.strip() if equals else "(no value)"}, number, name.strip()
        )
    return list(setting_entries.values())


def _lines(text: str, comment: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        inner = line.strip()
        if inner and inner[0] not in comment:
            yield number, inner


SERVER = entries.Kind(
    "server", entries.NIC, {"kernel_command_line": entries.KERNEL, "router_advertisements": entries.ADDRESS}
)
FABRIC = entries.Kind("QoS of fabric", entries.QOS)
HOST_NIC = entries.Kind("NIC", entries.NIC, {"mtu": entries.MTU, "slaac": entries.ADDRESS}, {"mtu": "MTU"})
HOST_FIRMWARE = entries.Kind("setting", entries.FIRMWARE)
HOST_ADDRESS = entries.Kind(
    "address", entries.ADDRESS, {"traffic_class": entries.QOS, "service_level": entries.QOS, "table": entries.ROUTE, "table_name": entries.ROUTE, "gateway": entries.ROUTE}
)  # fmt: skip
HOST_ROUTE = entries.Kind("route", entries.ROUTE, names={"via": "next hop (via)", "to": "destination (to)"})
VARIABLE = entries.Kind("variable", entries.NCCL)
JOB = entries.Kind("job", entries.NCCL)
TUNER_TABLE = entries.Kind("tuner table", entries.NCCL)
ROW = entries.Kind("row of the tuner table for", entries.NCCL, ordered=True)

_ROW_KEYS = ("collective", "ranks", "nodes", "max_bytes")
_OWN = ("fabrics", "nics", "routes", "rules", "sysctl", "job")


def read_host_document(text: str) -> list[entries.Entry]:
    """Return the values of a server's ``host.json`` or ``tuner.json``, as entries (fields with their lines).

    There is one entry for each NIC, address, route, rule, setting and table row. Raises ``RenderError``, with the line, if the
    file cannot be read.
    """
    document = read_json(text)
    return list(_tuner(document) if "rows" in document.named() else _host(document))


def _tuner(document: LocatedValue) -> Iterator[entries.Entry]:
    yield entries.Entry(TUNER_TABLE, document.fields(["rows"]), document.line, "settings", lines=document.lines())
    for row in document.named()["rows"].items():
        key = " ".join(row.named()[name].text for name in _ROW_KEYS if name in row.named())
        yield entries.Entry(ROW, row.fields(), row.line, key or row.text, lines=row.lines())


def _host(document: LocatedValue) -> Iterator[entries.Entry]:
    named = {name: LocatedValue("", document.line) for name in _OWN} | document.named()
    fields = {name: child for name, child in document.named().items() if name not in _OWN}
    flat = dict(_flat(LocatedValue(fields, document.line)))
    yield entries.Entry(
        SERVER,
        {name: child.text for name, child in flat.items()},
        1,
        "",
        lines={n: child.line for n, child in flat.items()},
    )
    for name, fabric in named["fabrics"].named().items():
        inner = dict(_flat(fabric))
        lines = {key: child.line for key, child in inner.items()}
        yield entries.Entry(FABRIC, {key: child.text for key, child in inner.items()}, fabric.line, name, lines=lines)
    for nic in named["nics"].items():
        yield from _nic(nic)
    for kind, key in ((HOST_ROUTE, "routes"), (RULE_OF, "rules")):
        for item in named[key].items() if isinstance(named[key].data, list) else ():
            dev = item.named().get("dev")
            whose = dev.text if dev else ""
            yield entries.Entry(
                kind, item.fields(["dev"]) or {"value": item.text}, item.line, whose=whose, lines=item.lines()
            )
    yield from _values(PARAMETER, named["sysctl"])
    yield from _job(named["job"], "")


def _nic(nic: LocatedValue) -> Iterator[entries.Entry]:
    fields = nic.fields(["firmware", "addresses"])
    name = fields.get("netdev", nic.text)
    yield entries.Entry(HOST_NIC, fields, nic.line, name, lines=nic.lines())
    inner = nic.named()
    if "firmware" in inner:
        yield from _values(HOST_FIRMWARE, inner["firmware"], name)
    for item in inner["addresses"].items() if "addresses" in inner else ():
        address_fields = item.fields()
        yield entries.Entry(
            HOST_ADDRESS, address_fields, item.line, f"of path {address_fields.get('path', '')}", name, item.lines()
        )


def _job(job: LocatedValue, tenant: str) -> Iterator[entries.Entry]:
    inner = job.named()
    whose = f"tenant {tenant}" if tenant else ""
    fields = job.fields(["environment", "tenants"])
    if fields:
        yield entries.Entry(JOB, fields, job.line, "settings", whose, job.lines())
    if "environment" in inner:
        yield from _values(VARIABLE, inner["environment"], whose)
    for name, tenant_job in inner["tenants"].named().items() if "tenants" in inner else ():
        yield from _job(tenant_job, name)


def _values(kind: entries.Kind, located: LocatedValue, whose: str = "") -> Iterator[entries.Entry]:
    for name, value in located.named().items():
        yield entries.Entry(kind, {"value": value.text}, value.line, name, whose)


def _flat(located: LocatedValue, above: str = "") -> Iterator[tuple[str, LocatedValue]]:
    """Yield (names of all levels joined by dots, value) for each value of a nested mapping (``located``).

    For example, ``{"a": {"b": 1}}`` gives the name a.b. ``above`` is put before each name.
    """
    for name, value in located.named().items():
        if isinstance(value.data, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


COMMAND_LINE = entries.Kind("variable", entries.KERNEL)
COMMAND: dict[Rule, entries.Kind] = {rule: entries.Kind("command", rule) for rule in (entries.NCCL, entries.KERNEL)}

_ASSIGNED = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)


def nccl_env(text: str) -> list[entries.Entry]:
    """Return the environment variables of ``nccl.env``, as one entry for each variable: the key is its name, the field its value."""
    return _variables(text, VARIABLE)


def grub(text: str) -> list[entries.Entry]:
    """Return the variables of a configuration fragment that ``update-grub`` reads, as one entry for each variable.

    The key of an entry is the variable's name, and the field its value.
    """
    return _variables(text, COMMAND_LINE)


def _variables(text: str, kind: entries.Kind) -> list[entries.Entry]:
    """Return each variable with its final value, as an entry of kind ``kind``.

    A line that is not an assignment becomes an entry for a command.
    """
    variables: dict[str, entries.Entry] = {}
    for number, line in code_lines(text):
        match = _ASSIGNED.fullmatch(line)
        value = _value(match[2]) if match else None
        if match and value is not None:
            variables[match[1]] = entries.Entry(kind, {"value": value}, number, match[1])
        else:
            variables[f"line {number}"] = entries.Entry(COMMAND[kind.rule], {"command": line}, number)
    return list(variables.values())


def _value(text: str) -> str | None:
    """Return the value of an assignment as a shell reads it. A text with ``$`` is returned unchanged, including quotes.

    ``text`` is the part after the equals sign. Return None if it contains more than a value, such as a command.
    """
    try:
        words = shlex.split(text, comments=False)
    except ValueError:
        return None
    if len(words) > 1 or re.search(r"[;&|<>`]|\$\(", text):
        return None
    return text if "$" in text else "".join(words)


FORMS: tuple[tuple[str, Callable[[str], list[entries.Entry]]], ...] = (
    (r"netplan\.yaml", read_netplan),
    (r"(host|tuner(-.*)?)\.json", read_host_document),
    (r"nccl\.env", nccl_env),
    (r"grub-.*\.cfg", grub),
    (r"sysctl\.conf", sysctl),
    (r"limits\.conf", limits),
    (r"rt_tables\.conf", rt_tables),
    (r"hostfile(\..*)?", hostfile),
    (r".*\.(service|network)|(networkd|networkmanager)\.conf", unit),
    (r".*\.rules", rules),
    (r".*\.conf", settings),  # those of NIC vendors
)
"""The readers of server files as (pattern of file names, reader). The first match applies."""


def compared(name: str, designed: str, actual: str) -> list[entries.Difference] | None:
    """Return the differences between the designed and the actual text of a server's file, sorted by line of the actual text.

    ``name`` is the name of the file. Return None if there is no reader for files of this name. Raises ``RenderError``, with the line,
    if one of the texts cannot be read.
    """
    file = name.rpartition("/")[2]
    if file.endswith(".sh"):
        form = script.form_of(file)
        old, new = script.read(designed, form), script.read(actual, form)
        commands = entries.in_sequence(old.commands, new.commands, lambda text: script.about(form, text))
        return entries.placed([*entries.differences(old.entries, new.entries), *commands], designed, actual)
    read = next((reader for pattern, reader in FORMS if re.fullmatch(pattern, file)), None)
    return None if read is None else entries.placed(entries.differences(read(designed), read(actual)), designed, actual)
