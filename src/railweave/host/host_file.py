"""The reader of ``host.json``. It validates every value that is used, so that no invalid value reaches a command.

The validators of single values return the value. For an invalid value, they raise ValueError with a text such as "is not
a list […]"; ``load`` puts the key in front of it.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union, cast

from . import files
from .entries import SYSTEM_TABLES, Entry, Route, Rule, planned_route, spelled
from .failure import HostInputError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = 1

T = TypeVar("T")

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Prefix = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


_address = lru_cache(maxsize=1 << 10)(ipaddress.ip_address)
"""A cached ``ip_address``, because many routes share a few gateways."""


def a_list(value: object) -> list[Any]:
    """Return the value, which must be a list. Raises ``ValueError`` for any other value."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    raise ValueError("is not a list […]")


def an_object(value: object) -> dict[str, Any]:
    """Return the value, which must be a JSON object. Raises ``ValueError`` for any other value."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise ValueError("is not an object {…}")


def a_line(value: object) -> str:
    """Return the value, which must be a text without control characters. Raises ``ValueError`` for any other value."""
    if isinstance(value, str) and value.isprintable():
        return value
    raise ValueError("is not a line of text")


def a_variable_value(value: object) -> str:
    """Return the value, which must be a text that an environment variable can hold.

    Raises ``ValueError`` for any other value.
    """
    if isinstance(value, str) and "\0" not in value:
        return value
    raise ValueError("is not a text, as the value of a variable must be")


def a_number(value: object) -> int:
    """Return the value, which must be a whole number, 0 or more. Raises ``ValueError`` for any other value."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError("is not a whole number, 0 or more")


def _matching(pattern: str, expected: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII):
            return value
        raise ValueError(f"is not {expected}")

    return read


a_device = _matching(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,62}", "the name of a device")
a_mac = _matching(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", "a MAC address in lower case, such as a0:88:c2:3b:50:66")
a_table_name = _matching(r"(?!(unspec|default|main|local)$)[A-Za-z_][A-Za-z0-9_.-]*", "a name a routing table can have")
a_variable_name = _matching("[A-Za-z_][A-Za-z0-9_]*", "the name of a variable")


def a_table(value: object) -> int:
    """Return the value, which must be the number of a routing table that the system does not use. Raises ``ValueError`` otherwise."""
    number = a_number(value)
    if number not in SYSTEM_TABLES and number < 2**32:
        return number
    raise ValueError("is not a table for routes of ours: 1 to 4294967295 without 253, 254 and 255, the system's")


def a_priority(value: object) -> int:
    """Return the value, which must be the priority of a rule: 0 to 4294967295. Raises ``ValueError`` for any other value."""
    number = a_number(value)
    if number < 2**32:
        return number
    raise ValueError("is not a priority of a rule: 0 to 4294967295")


def an_origin(value: object) -> bool:
    """Return True if an address origin is ``slaac``; the other origin is ``static``. Raises ``ValueError`` for any other value."""
    if value in ("slaac", "static"):  # no set: the value may be a list
        return value == "slaac"
    raise ValueError('is neither "slaac" nor "static"')


def an_address(value: object) -> Address:
    """Return a text as an IP address, which must have no zone. Raises ``ValueError`` for any other value."""
    if isinstance(value, str) and "%" not in value:
        try:
            return _address(value)
        except ValueError:
            pass
    raise ValueError("is not an IP address, such as fc00:1:1:1::1")


def _spelled(value: object, strict: bool, expected: str) -> str:
    """Return a prefix in canonical form, or raise ``ValueError``. With ``strict``, host bits are an error.

    ``expected`` describes the valid form in the error.
    """
    if isinstance(value, str) and "%" not in value:
        try:
            return spelled(value, strict=strict)
        except ValueError:
            pass
    raise ValueError(f"is not {expected}")


def _strictly(value: object) -> str:
    return _spelled(value, True, "a prefix with its host bits 0, such as fc00:1:1:1::/64 or 192.168.1.0/24")


def a_prefix(value: object) -> Prefix:
    """Return a text as a prefix, which must have no host bits. Raises ``ValueError`` for any other value."""
    return ipaddress.ip_network(_strictly(value))


def an_end(value: object) -> str:
    """Return the source or destination of a rule unchanged, after validation.

    Host bits are allowed, because the kernel keeps them. Raises ``ValueError`` if the value is not an address or prefix, or is the prefix
    of all addresses.
    """
    if _spelled(value, False, "an IP address or prefix, such as 192.168.1.1 or fc00:1:1:1::/64").endswith("/0"):
        raise ValueError(
            "is every address, so that the rule would take all traffic, the system's too:"
            " name the addresses it is for, or leave this end out where the other one says which traffic is meant"
        )
    return cast("str", value)


def a_destination(value: object) -> str:
    """Return a route's destination in canonical form. ``default`` is allowed. Raises ``ValueError`` for any other value."""
    return "default" if value == "default" else _strictly(value)


@dataclass(frozen=True)
class PathAddress:
    """An address of a NIC, with its path and that path's routing table.

    - ``number``: the number of the path, from 1.
    - ``color``, ``color_name``: the path's color; None and ``default`` if the design has no path colors.
    - ``address``: None if it is not known yet, for example because the NIC forms it by SLAAC.
    """

    number: int
    color: int | None
    color_name: str
    prefix: Prefix
    address: Address | None
    slaac: bool
    table: int
    table_name: str


@dataclass(frozen=True)
class Nic:
    """A NIC.

    - ``netdev``: its Linux interface. ``rdma``, ``rdma_port``: its RDMA device, and the port of this device.
    - ``gpu``: the number of the GPU that it serves, or None.
    - ``paths``: its addresses, one for each path.
    - ``tenant``: the tenant that it belongs to, or empty.
    """

    netdev: str
    rdma: str
    rdma_port: int
    mac: str | None
    gpu: int | None
    fabric: str
    mtu: int
    paths: tuple[PathAddress, ...]
    tenant: str = ""


@dataclass(frozen=True)
class Job:
    """The environment of jobs.

    ``environment`` has the variables with fixed values. ``resolve`` has the names of variables whose values are looked up at launch.
    """

    environment: dict[str, str]
    resolve: tuple[str, ...]


@dataclass(frozen=True)
class HostFile:
    """The configuration of this server.

    - ``entries``: the routes, then the rules, as pairs of network device and entry (a route or a rule).
    - ``environment``: the environment variables of jobs, value by name.
    - ``resolve``: the names of further variables. Their values are looked up when a job starts.
    - ``tenants``: the environment of each tenant's jobs, by tenant name, if GPUs belong to several tenants; otherwise empty.
    """

    file: Path
    host: str
    network: str
    nics: tuple[Nic, ...]
    entries: tuple[tuple[str, Entry], ...]
    environment: dict[str, str]
    resolve: tuple[str, ...]
    tenants: dict[str, Job]

    def of_tenant(self, name: str) -> HostFile:
        """Return the plan for one tenant's jobs: its NICs and its environment. Raises HostInputError if the tenant has no NIC here."""
        here = tuple(nic for nic in self.nics if nic.tenant == name)
        if not here:
            known = dict.fromkeys(nic.tenant for nic in self.nics if nic.tenant)
            there = f"its NICs are of {', '.join(known)}" if known else "its NICs are of no tenant"
            raise HostInputError(f"--tenant {name}: has no NIC of {self.host}; {there}")
        job = self.tenants.get(name, Job(self.environment, self.resolve))
        return replace(self, nics=here, environment=job.environment, resolve=job.resolve, tenants={})

    @property
    def tables(self) -> dict[int, str]:
        """The names of the routing tables, by number."""
        return {path.table: path.table_name for nic in self.nics for path in nic.paths}

    @property
    def gpu_nics(self) -> list[Nic]:
        """The NICs that collectives use: those with a GPU, or all NICs of the first fabric if no NIC has a GPU."""
        return [nic for nic in self.nics if nic.gpu is not None] or [
            nic for nic in self.nics if nic.fabric == self.nics[0].fabric
        ]


class _WrongError(Exception):
    """An error in the value of a key. The function that catches it adds the name of the file."""


def load(file: Path) -> HostFile:
    """Read and validate a ``host.json``. Raises HostInputError with file and key."""
    try:
        document = files.parsed(files.content(file))
    except FileNotFoundError:
        raise HostInputError(
            f"{file}: not there; put this server's host.json there, or name it with --host-file"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HostInputError(f"{file}: cannot be read: {error}") from None
    except ValueError as error:  # JSONDecodeError is one
        raise HostInputError(f"{file}: not JSON: {error}") from None
    try:
        return _host(file, _Item("", document))
    except _WrongError as error:
        raise HostInputError(f"{file}: {error}") from None


class _Item:
    """An object of the JSON file, and its key path, such as ``nics[0]``, for error messages."""

    def __init__(self, where: str, value: Any) -> None:  # noqa: ANN401 - JSON
        if not isinstance(value, dict):
            raise _WrongError(f"{where or 'the whole file'}: must be an object {{…}}")
        self.where = where
        self.value = cast("dict[str, Any]", value)

    def at(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str, read: Callable[[Any], T]) -> T:
        """Return the value of a required key, validated by ``read``. Raise an error that names the key if it is missing or wrong."""
        if key not in self.value:
            raise _WrongError(f"{self.at(key)} is missing")
        try:
            return read(self.value[key])
        except ValueError as error:
            raise _WrongError(f"{self.at(key)}: {json.dumps(self.value[key])} {error}") from None

    def maybe(self, key: str, read: Callable[[Any], T]) -> T | None:
        """Return the value of an optional key, validated by ``read``; None if it is absent or null."""
        return None if self.value.get(key) is None else self.get(key, read)

    def items(self, key: str) -> list[_Item]:
        return [_Item(f"{self.at(key)}[{i}]", value) for i, value in enumerate(self.get(key, a_list))]


def _host(file: Path, top: _Item) -> HostFile:
    schema = top.get("schema", a_number)
    if schema != SCHEMA:
        advice = "use a newer railweave host" if schema > SCHEMA else "build the folder again"
        raise _WrongError(f"schema: version {schema}, but this railweave host reads version {SCHEMA}: {advice}")
    nics = tuple(_nic(item) for item in top.items("nics"))
    netdevs = [nic.netdev for nic in nics]
    for again in (netdev for netdev, times in Counter(netdevs).items() if times > 1):
        raise _WrongError(f"nics: {again} is there twice")
    routes = tuple(_route(item, netdevs) for item in top.items("routes"))
    places: set[tuple[int, int, str]] = set()
    for i, route in enumerate(routes):
        if route.place in places:
            raise _WrongError(f"routes[{i}]: a second route to {route.destination} in table {route.table}")
        places.add(route.place)
    job = _Item("job", top.value.get("job", {"environment": {}, "resolve": []}))
    given = _Item("job.tenants", job.value.get("tenants", {}))
    host_job = _job(job)
    return HostFile(
        file,
        top.get("host", a_line),
        top.get("network", a_line),
        nics,
        (*((route.dev, route) for route in routes), *(_rule(item, netdevs) for item in top.items("rules"))),
        host_job.environment,
        host_job.resolve,
        {name: _job(_Item(given.at(name), given.value[name])) for name in given.value},
    )


def _job(job: _Item) -> Job:
    variables = _Item(job.at("environment"), job.get("environment", an_object))
    return Job(
        {_variable(variables.at(name), name): variables.get(name, a_variable_value) for name in variables.value},
        tuple(_variable(f"{job.at('resolve')}[{i}]", name) for i, name in enumerate(job.get("resolve", a_list))),
    )


def _nic(item: _Item) -> Nic:
    return Nic(
        item.get("netdev", a_device),
        item.get("rdma", a_device),
        item.get("rdma_port", a_number),
        item.maybe("mac", a_mac),
        item.maybe("gpu", a_number),
        item.get("fabric", a_line),
        item.get("mtu", a_number),
        tuple(_path(address) for address in item.items("addresses")),
        item.maybe("tenant", a_line) or "",
    )


def _path(item: _Item) -> PathAddress:
    return PathAddress(
        item.get("path", a_number),
        item.maybe("color", a_number),
        item.maybe("color_name", a_line) or "",
        item.get("prefix", a_prefix),
        item.maybe("address", an_address),
        item.get("origin", an_origin),
        item.get("table", a_table),
        item.get("table_name", a_table_name),
    )


def _route(item: _Item, netdevs: list[str]) -> Route:
    dev, table, via = _dev(item, netdevs), item.get("table", a_table), item.maybe("via", an_address)
    to = item.get("to", a_destination)
    if via is None and to == "default":
        raise _WrongError(f"{item.where}: a default route needs a via")
    family = 6 if ":" in (str(via) if to == "default" else to) else 4
    if via is not None and via.version != family:
        raise _WrongError(f"{item.where}: to and via are of two address families")
    return planned_route(family, table, to, dev, "" if via is None else _shown(via))


_shown = lru_cache(maxsize=1 << 10)(str)
"""A cached ``str``, because many routes share a few gateways."""


def _rule(item: _Item, netdevs: list[str]) -> tuple[str, Rule]:
    dev, table = _dev(item, netdevs), item.get("table", a_table)
    ends = {key: item.maybe(key, an_end) for key in ("from", "to")}
    families = {6 if ":" in text else 4 for text in ends.values() if text is not None}
    if len(families) != 1:
        wrong = (
            "from and to are of two address families"
            if families
            else "needs a from or a to: without, it takes all traffic"
        )
        raise _WrongError(f"{item.where}: {wrong}")
    priority = item.maybe("priority", a_priority)
    return dev, Rule(families.pop(), priority, ends["from"] or "", ends["to"] or "", table)


def _dev(item: _Item, netdevs: list[str]) -> str:
    dev = item.get("dev", a_device)
    if dev not in netdevs:
        raise _WrongError(f"{item.at('dev')}: {dev} is not the netdev of any of nics")
    return dev


def _variable(where: str, name: object) -> str:
    try:
        return a_variable_name(name)
    except ValueError as error:
        raise _WrongError(f"{where}: {json.dumps(name)} {error}") from None
