"""The lab of a fabric file, which is up, as a running network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.collect.access_file import read_access
from railweave.live.collect.plan import plan
from railweave.live.lab import life, other_root, slicing, state
from railweave.live.lab.asking import changer, opener
from railweave.live.lab.check import as_in_a_lab, server_as_in_a_lab
from railweave.live.lab.plan import make_plan
from railweave.live.reach.opening import opened as opened_to_ask
from railweave.live.reach.telling import opened as opened_to_change
from railweave.live.site.access import listed
from railweave.live.site.in_lab import InLab
from railweave.live.site.site import Asking, Site
from railweave.model.network.status import present, reachable
from railweave.outputs.rendering.host.host_json import host_json

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.lab.running import Running
    from railweave.model.network.model import Network

RARELY_S = 10.0
"""Asking a router of a lab costs no one anything."""


def asking(fabric: Path, *, only: Collection[str] = (), servers: bool = False) -> Asking:
    """The devices of the lab as it was brought up; ``only`` some of them, ``servers`` too. Raises ``LabError`` if the lab is not up."""
    running = life.attach(fabric)[1]
    asked = plan(running.plan.network, read_access(None), only=only, servers=servers, nos=_system(running))
    return Asking(
        network=running.plan.network,
        configs=running.plan.configs,
        asked={one.target.name: one for one in asked},
        ask_by=opener(running),
        seen=as_in_a_lab,
        host_seen=server_as_in_a_lab,
        rarely_s=RARELY_S,
    )


def site(fabric: Path, network: Network, access: AccessFile | None = None) -> Site:
    """The switches of a network in the lab of its fabric file; reached by SSH if ``access`` is given.

    Raises ``LabError`` if the lab is not up, or does not have all devices of the network.
    """
    record, running = life.attach(fabric)
    whole = present(reachable(network))
    part = slicing.sliced(whole, slicing.parse(record.slice)) if record.slice else whole
    wanted = make_plan(part, record.timers())
    if missing := [name for name in wanted.devices() if name not in record.devices]:
        raise LabError(f"the lab was brought up without {', '.join(missing)}: take it down, and bring it up with them")
    nos = _system(running)
    known = access or read_access(None)
    asked = {one.target.name: one for one in plan(part, read_access(None), nos=nos)}
    found = Site(
        network=part,
        configs=wanted.configs,
        asked=asked,
        ask_by=opener(running),
        seen=as_in_a_lab,
        host_seen=server_as_in_a_lab,
        change_by=changer(running),
        at_once=16,
        attempts=1,
        servers={name: known.target(name, "server", "", name, ("ssh",)) for name in wanted.hosts},
        host_file=lambda name: host_json(wanted.hosts[name]),
        former=lambda name, protocol: known.target(name, "", nos, name, (protocol,)),
        remember=lambda: state.write(running.place, record, part),
        machine=lambda name: other_root.Router(running, name),
        emulation=InLab(running),
    )
    if access is None:
        return found
    return replace(  # the file may name machines that this design does not have
        found,
        asked={
            name: replace(one, target=access.target(name, part.switch(name).role, nos, name, one.target.protocols))
            for name, one in asked.items()
        },
        ask_by=opened_to_ask,
        change_by=opened_to_change,
        at_once=access.access.at_once,
        attempts=access.access.attempts,
        former=listed(access),
    )


def _system(lab: Running) -> str:
    """The operating system that every router of a lab has."""
    return next(iter(lab.plan.configs.values())).nos
