"""The GPU servers of a network, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.api.sources import network_of, path_of, silent
from railweave.catalog import in_force
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.fleet.checked import Checked
    from railweave.fleet.running import Answer
    from railweave.network.model import Network


def fleet_check(
    source: Network | Path | str,
    *,
    hosts: str | None = None,
    access: Path | str | None = None,
    only: Sequence[str] = (),
    sudo: bool = False,
    at_once: int = 32,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Checked:
    """Run ``railweave host check`` on servers over SSH, and sum up what they say (docs/fleet.md).

    - ``hosts``: servers, as ``H100-[01-04]``; all of the network where it is left out.
    - ``access``: how servers are reached: ``access.yaml`` (docs/collect.md); without it by their names.
    - ``only``: ids or subjects of checks (docs/checks.md).
    - ``sudo``: run by ``sudo -n``; ``at_once``: how many servers together.
    - ``device``, ``hardware``: see ``load``.
    - ``progress``: called with a few words on what is being done.

    A server that does not answer is a row of the result; one that ``status:`` takes away is not asked. Raises ``InputError`` for
    wrong input, and as ``load`` does.
    """
    from railweave.collect.access_file import read_access
    from railweave.device.host import host_config
    from railweave.fleet.checked import checked
    from railweave.fleet.running import Task, check
    from railweave.fleet.sharing import Place
    from railweave.host.checks.running import chosen
    from railweave.host.failure import HostInputError
    from railweave.intent.names import expand
    from railweave.render.host.host_json import host_json

    network, ways = network_of(source, device, hardware), read_access(path_of(access))
    try:
        subjects = {one.id: one.subject for one in chosen(only)}
        wanted = None if hosts is None else expand(hosts)
    except (HostInputError, ValueError) as error:
        raise InputError(
            [Problem(Option("fleet check"), str(error), "see docs/checks.md and docs/fabric-file.md")]
        ) from None
    there = {one.name: one for one in network.servers if one.name not in network.absent}
    if wanted is not None and (unknown := [one for one in wanted if one not in there]):
        fix = "names are those of the fabric file; `status:` takes servers away"
        raise InputError([Problem(Option("--hosts", one), "there is no such server", fix) for one in unknown])
    names = [one for one in there if wanted is None or one in wanted]
    with in_force(network.catalog):
        configs = {name: host_config(network, name) for name in names}
    tasks = [Task(ways.target(name, "server", "", name, ("ssh",)), host_json(configs[name])) for name in names]
    say, number = progress or silent, [0]

    def done(answer: Answer) -> None:
        number[0] += 1
        say(f"{answer.server}: {'no answer' if answer.error else 'checked'} ({number[0]} of {len(tasks)})")

    answers = check(tasks, only=only, sudo=sudo, at_once=at_once, done=done)
    places = {(name, nic.netdev): Place(nic.leaf, nic.rail) for name, one in configs.items() for nic in one.nics}
    return checked(network.name, answers, places, {name: there[name].model for name in names}, subjects)
