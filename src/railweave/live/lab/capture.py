"""Queries to the devices of a lab, as to real devices, and a capture of the answers. Commands run in the devices' namespaces."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from railweave.errors import LabError
from railweave.live.collect.access_file import read_access
from railweave.live.collect.collect import CollectResult, collect
from railweave.live.collect.plan import plan
from railweave.live.lab import hosts, life, lldp
from railweave.live.lab.frr import routers
from railweave.live.lab.frr.routers import daemon_pid, running_root
from railweave.live.lab.kernel.namespace import RUN, existing
from railweave.live.lab.names import namespace
from railweave.live.reach.change_session import Shell
from railweave.live.reach.command import Command
from railweave.live.reach.failure import ReachError
from railweave.model.state.capture import LabEntry
from railweave.progress import silent
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from railweave.live.lab.running import Running
    from railweave.live.reach.target import Target, Transport
    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.question import Protocol
    from railweave.systems.transaction import Session

_HOST = 'shift; exec "$0" -m railweave.host "$@"'
"""A shell command that runs ``railweave-host`` from the installed railweave."""


def collect_lab(
    fabric: Path,
    folder: Path,
    *,
    only: Collection[str] = (),
    servers: bool | None = None,
    tables: bool | None = None,
    redact: bool = True,
    progress: Callable[[str], None] = silent,
) -> CollectResult:
    """Query the switches and servers of a fabric file's lab, and write a capture, as ``collect`` does for real devices.

    - ``only``: the names of the devices to query; empty queries all.
    - ``servers``: False leaves the servers out; None and True query them.
    - ``tables``: True to query whole routing tables, False not to; None decides by their size.
    - ``redact``: True to hide secrets in the answers.

    Raises ``LabError`` if the lab is not running or the user is not root, and the errors of ``collect``.
    """
    if os.geteuid() != 0:
        raise LabError(f"a lab's devices are asked as root: run `sudo railweave check {fabric} --lab`, or `collect`")
    record, lab = life.attach(fabric)
    network, access = lab.plan.network, read_access(None)
    nos = next(iter(lab.plan.configs.values())).nos
    asked = plan(network, access, only=only, servers=servers is not False, tables=tables, nos=nos)
    of_lab = LabEntry(slice=record.slice, timers=record.overlay)
    with lab:
        return collect(
            network, asked, access, folder, redact=redact, progress=progress, open_by=opener(lab), lab=of_lab
        )


def opener(lab: Running) -> Callable[[Target, Protocol], Awaitable[Transport]]:
    """Return the function that opens a connection for queries to a device of a lab.

    ``vtysh`` runs in the environment of the router's daemons; other commands run in the device's namespace.
    ``lldpcli`` queries the device's own lldpd.
    """
    place = lab.place

    async def opened(target: Target, protocol: Protocol) -> Transport:
        if protocol != "ssh":
            raise ReachError("not asked", f"a device of a lab is not asked by {protocol}")
        inside = _namespace(lab, target.name)
        by_name = [*inside, "env", f"PATH={lldp.commands(place, target.name)}:{os.environ.get('PATH', os.defpath)}"]
        if target.name in lab.plan.hosts:
            variable = f"RAILWEAVE_HOST_FILE={place.host(target.name) / hosts.HOST_FILE}"
            return Command({"": [*by_name, variable, "sh", "-c", _HOST, sys.executable]})
        spaces = existing(f"{namespace(place.lab, target.name)}@")
        of_vrfs = {space.partition("@")[2]: ["nsenter", f"--net={RUN / space}"] for space in spaces}
        return _Router({"vtysh": _machine(lab, target.name), "": by_name}, of_vrfs)

    return opened


class _Router(Command):
    """A connection to a router that has a separate namespace for each VRF.

    The kernel's answers from all these namespaces are joined, so that they look like the answers of a switch whose VRFs are
    devices in one namespace. ``of_vrfs`` has, for each VRF, the words to put before a command so that the command runs in the
    VRF's namespace. A command about one VRF (``ip -j -6 route show vrf NAME``) runs in this VRF's namespace only.
    """

    def __init__(self, prefixes: Mapping[str, Sequence[str]], of_vrfs: Mapping[str, Sequence[str]]) -> None:
        super().__init__(prefixes)
        self._of_vrfs = {name: Command({"": words}) for name, words in of_vrfs.items()}

    async def ran(self, words: str, given: str | None = None) -> tuple[int, str, str]:
        if (route := _ROUTES.fullmatch(words)) is not None:
            vrf = self._of_vrfs.get(route[2] or "")
            if route[2] and vrf is None:
                return 1, "", f"there is no VRF {route[2]}"
            return await (vrf or super()).ran(route[1], given)
        status, answer, wrong = await super().ran(words, given)
        if status or not words.startswith(_OF_KERNEL):
            return status, answer, wrong
        more = [await vrf.ran(words) for vrf in self._of_vrfs.values()]
        return status, joined([answer, *(text for code, text, _ in more if not code)]), wrong


_ROUTES = re.compile(r"(ip -j -[46] route show.*?)(?: vrf (\S+))?")
"""A query for the kernel's routes, with the name of the VRF if it is not the default VRF."""
_OF_KERNEL = ("ip -j ", "nft -j ")
_MAIN_ONLY = {"all", "default", "lo"}
"""The names that occur in every namespace, such as the loopback. Only the main namespace's answers about them are kept."""


def joined(answers: Sequence[str]) -> str:
    """Join the JSON answers of a router's namespaces. ``answers`` has the answer of the main namespace, then the answers of the VRFs' namespaces."""
    trees: list[Any] = [parse_json(answer or "[]") for answer in answers]
    main, *others = trees
    if (key := "nftables") in main:
        return json.dumps({key: [row for tree in trees for row in tree[key]]})
    return json.dumps([*main, *(row for other in others for row in other if not _of_main(row))])


def _of_main(row: dict[str, Any]) -> bool:
    return row.get("ifname", row.get("interface")) in _MAIN_ONLY and row.get("forwarding") is not False


def changer(lab: Running, wanted: Mapping[str, DeviceConfig]) -> Callable[[Target, Protocol], Awaitable[Session]]:
    """Return the function that opens a session which may change a router or a server of a lab.

    The session runs commands in the namespaces of the device. Before that, the function creates the namespaces of the VRFs in the router's
    ``wanted`` configuration. VRFs have namespaces because the kernel may lack support for VRF devices.
    """

    async def opened(target: Target, protocol: Protocol) -> Session:
        if protocol != "ssh":
            raise ReachError("not asked", f"a device of a lab is not changed by {protocol}")
        if target.name in lab.plan.hosts:
            variables = [f"{name}={path}" for name, path in hosts.own_files(lab, target.name).items()]
            return Shell(Command({"": [*_namespace(lab, target.name), "env", *variables]}))
        if target.name in wanted:
            routers.add_vrfs(lab.place, wanted[target.name])
        return Shell(Command({"": _machine(lab, target.name)}))

    return opened


def _namespace(lab: Running, device: str) -> list[str]:
    return ["nsenter", f"--net={RUN / namespace(lab.place.lab, device)}"]


def _machine(lab: Running, router: str) -> list[str]:
    """Return the words to put before a command so that it runs with a router's daemons, files and network.

    Raises ``ReachError`` if no daemon of the router runs.
    """
    pid = next(
        (running_pid for daemon in ("zebra", "bgpd") if (running_pid := daemon_pid(lab.place, router, daemon))), None
    )
    if pid is None:
        raise ReachError("unreachable", f"no daemon of {router} runs")
    namespaces = [f"--{kind}=/proc/{pid}/ns/{file}" for kind, file in (("mount", "mnt"), ("uts", "uts"))]
    return [*_namespace(lab, router), *namespaces, "chroot", running_root(pid)]
