"""Hardware that was replaced: a plan of all that follows, which ``deploy_apply`` carries out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.sites import INVENTORY, designed_with, site_of
from railweave.api.sources import load, silent
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force
from railweave.model.intent.reading.source import companion

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.network.model import Network
    from railweave.operations.deploy.plan import Plan


def deploy_replace(
    fabric: Path | str,
    what: str,
    *,
    serial: str = "",
    mac: str = "",
    lab: bool = False,
    access: Path | str | None = None,
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """The plan of what follows from a switch, server or NIC that was replaced: inventory, addresses, labels, configurations, files of servers.

    - ``what``: a switch or a server, with the ``serial`` number of the new one; or ``SERVER:NIC``, with the ``mac`` address of the new NIC
      (and its ``serial``), as the inventory names it.
    - ``lab``, ``access``, ``hardware``: see ``deploy_plan``.

    Nothing is changed; ``deploy_apply`` writes the inventory, and changes the switches and servers whose configuration follows from it. A
    replaced switch that answers already gets its whole configuration. Raises ``InputError`` for a name or a value that cannot be, and
    ``LabError`` where the lab is not up.
    """
    from railweave.live.check.learnt import filled
    from railweave.live.fleet.host_tree import FILE
    from railweave.model.device.build import device_config
    from railweave.model.device.host import host_config
    from railweave.operations.deploy.host_files import host_files
    from railweave.operations.deploy.making import make_plan
    from railweave.operations.deploy.replacement import Replacement, cells, follows, inventory_text, part

    fabric, say = Path(fabric), progress or silent
    before = load(fabric, hardware=hardware)
    file = companion(fabric, INVENTORY)
    text = inventory_text(file)
    wanted = filled(text, cells(before, what, serial, mac))
    device, _ = part(before, what)
    after = _designed(fabric, wanted, what, hardware)
    with in_force(after.catalog):
        say("working out what follows")
        lines = list(follows(before, after, what))
        site = site_of(fabric, after, lab=lab, access=access)
        switches = [
            name for name in site.asked if name == device or device_config(before, name) != device_config(after, name)
        ]
        servers = [name for name in site.servers if host_config(before, name) != host_config(after, name)]
        running, silent_ones = (
            site.running(switches, lambda one: say(f"{one.device}: {one.status}")) if switches else ({}, {})
        )
        texts, silent_hosts = (
            host_files(site, servers, lambda name, said: say(f"{name}: {said}")) if servers else ({}, {})
        )
        silent_ones |= silent_hosts
        hosts = {name: (one, {FILE: site.host_file(name)}) for name, one in texts.items()}
        chosen = [*switches, *servers]
        plan = make_plan(
            fabric,
            site.network,
            running,
            silent=silent_ones,
            live=True,
            only=[name for name in chosen if name in running or name in hosts or name in silent_ones],
            configs=site.configs,
            servers=hosts,
            progress=say,
        )
    refused = [f"{name} did not answer: {why}" for name, why in silent_ones.items() if name != device]
    if device in silent_ones:
        lines.append(
            f"{device} does not answer yet: its configuration is not in this plan; when it does, "
            f"`railweave deploy plan FABRIC --live --only {device}{' --servers' if device in site.servers else ''}` has it"
        )
    if what == device:
        lines.append(
            f"{device} may show another host key: take the old one from known_hosts, and compare the new one there"
        )
    changed = Replacement(what, str(file.resolve()), text, wanted, tuple(lines), tuple(refused))
    return replace(plan, replacement=changed)


def _designed(fabric: Path, inventory: str, what: str, hardware: Path | str | None) -> Network:
    """The network with another inventory. Raises ``InputError`` for a value that the design does not take, without the path of a file that is gone."""
    try:
        return designed_with(fabric, inventory, hardware)
    except InputError as error:
        raise InputError([Problem(Argument(what), one.what, one.fix) for one in error.problems]) from None
