"""The servers of a lab. Each is a namespace with its NICs.

Addresses come from router advertisements, tables and rules from ``railweave host``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.host import apply, changes, host_file, journal, kernel
from railweave.host.failure import HostError
from railweave.live.lab.kernel.namespace import entered, ip_batch, set_parameters
from railweave.live.lab.kernel.netlink import DEPRECATED, TENTATIVE
from railweave.live.lab.names import namespace
from railweave.outputs.rendering.host.host_json import host_json
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from railweave.host.host_file import HostFile
    from railweave.live.lab.running import Running
    from railweave.model.device.host_model import HostConfig

HOST_FILE = "host.json"

_GLOBAL = 0  # RT_SCOPE_UNIVERSE
_IN_NAMESPACE = ("net/ipv4/conf/", "net/ipv6/conf/")
"""The kernel parameters that each namespace has separately. All other parameters belong to the whole machine and stay unchanged."""


def prepare(lab: Running) -> None:
    """Create every server's folder, set its kernel parameters and static addresses, and bring up its NICs.

    Raises ``LabError`` if the kernel refuses a parameter or an address.
    """
    for name, host in lab.plan.hosts.items():
        lab.place.host(name).mkdir(parents=True, exist_ok=True)
        with entered(namespace(lab.place.lab, name)):
            set_parameters(_parameters(host))
        ip_batch(_lines(host), inside=namespace(lab.place.lab, name))


def write_files(lab: Running) -> None:
    """Write every server's plan, from which ``apply_tables`` sets tables and rules."""
    for name, host in lab.plan.hosts.items():
        write_file(lab.place.host(name) / HOST_FILE, host_json(host))


def _parameters(host: HostConfig) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, value in host.sysctl.items():
        dot, slash = name.find("."), name.find("/")
        path = name.replace(".", "/") if slash < 0 or 0 <= dot < slash else name
        if path.startswith(_IN_NAMESPACE):
            parameters[path] = value
    return parameters


def _lines(host: HostConfig) -> Iterator[str]:
    yield "link set lo up"
    for nic in host.nics:
        for address in nic.addresses:
            if address.origin == "static":
                yield f"addr add {address.address}/{address.prefix_length} dev {nic.netdev}"
        yield f"link set {nic.netdev} up"


def designed(host: HostConfig) -> set[tuple[str, str, int]]:
    """Return (interface, address, prefix length) for each address that a server should have."""
    return {(nic.netdev, address.address, address.prefix_length) for nic in host.nics for address in nic.addresses}


def present(lab: Running, name: str) -> set[tuple[str, str, int]]:
    """Return (interface, address, prefix length) for each global address that a server can use now."""
    interfaces = lab.interfaces(name)
    return {
        (interfaces[address.interface], address.address, address.prefix_length)
        for address in lab.kernel(name).addresses()
        if address.scope == _GLOBAL
        and not address.flags & (TENTATIVE | DEPRECATED)
        and interfaces[address.interface] != "lo"
    }


def wait_for_addresses(lab: Running, limit_s: float) -> bool:
    """Wait until every server has its designed addresses. Return False if ``limit_s`` seconds pass first."""
    until = time.monotonic() + limit_s
    left = list(lab.plan.hosts)
    while left := [name for name in left if not designed(lab.plan.hosts[name]) <= present(lab, name)]:
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def own_files(lab: Running, name: str) -> dict[str, Path]:
    """Return the paths of the files of which each server needs its own copy, by the environment variable that names the file.

    The servers of a lab share the machine's file system.
    """
    folder = lab.place.host(name)
    return {
        "RAILWEAVE_DEPLOY_HOST_FILE": folder / HOST_FILE,
        "RAILWEAVE_STATE_FILE": folder / "journal.json",
        "RAILWEAVE_NAMES_FILE": folder / "rt_tables.conf",
        "RAILWEAVE_DEPLOY_FOLDER": folder / "deploy",
    }


def apply_tables(lab: Running) -> None:
    """Set every server's tables and rules to its plan, with the code of ``railweave host apply``.

    Raises ``LabError`` if the kernel refuses a table entry or a rule.
    """
    for name in lab.plan.hosts:
        plan, files = _plan(lab, name), own_files(lab, name)
        places = apply.Places(files["RAILWEAVE_STATE_FILE"], files["RAILWEAVE_NAMES_FILE"])
        with entered(namespace(lab.place.lab, name)):
            try:
                with journal.locked(places.journal) as lock:
                    apply.apply(plan, places, lock)
            except HostError as error:
                raise LabError(f"{name}: {error}") from None


def differences(lab: Running, name: str) -> tuple[list[str], list[str]]:
    """Return two lists about a server: the planned routes and rules that it lacks, and the unplanned ones in planned tables.

    Raises ``LabError`` if the tables or rules cannot be read.
    """
    plan = _plan(lab, name)
    try:
        with entered(namespace(lab.place.lab, name)):
            there = kernel.read()
    except HostError as error:
        raise LabError(f"{name}: {error}") from None
    planned = [entry for _, entry in plan.entries]
    missing = [kernel.command_line(("add", entry)) for entry in changes.undone(plan, there)]
    more = [
        kernel.command_line(("add", entry))
        for entry in there.entries
        if entry.table in plan.tables and not any(type(entry) is type(other) and entry.does(other) for other in planned)  # pyright: ignore[reportArgumentType]
    ]
    return missing, more


def _plan(lab: Running, name: str) -> HostFile:
    try:
        return host_file.load(lab.place.host(name) / HOST_FILE)
    except HostError as error:
        raise LabError(str(error)) from None
