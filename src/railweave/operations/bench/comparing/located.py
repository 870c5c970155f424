"""Find stored runs by command-line argument, and the NICs, leaves and pinned links that perftest runs used in a network.

NICs are found by their GIDs. The stored runs stay unchanged; this module returns the additional facts.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import QueuePairPath, by_ends, queue_pair_paths
from railweave.errors import Argument, InputError, Problem
from railweave.model.device.build import device_config
from railweave.operations.bench.lines import address
from railweave.operations.store.store import opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.model.network.devices import Nic
    from railweave.model.network.model import Network
    from railweave.operations.store.records import Run


def runs_of(word: str, beside: str = "") -> list[Run]:
    """Return the runs that a command-line argument names.

    ``beside``: another argument, whose store is searched if ``word`` is only a run id. Raises ``InputError`` if the
    store has no run with that id, and the errors of ``opened``.
    """
    store, hashed, run = word.rpartition("#")
    if not hashed or Path(word).exists():
        store, run = word, ""
    if not run and beside and not Path(word).exists() and re.fullmatch("[0-9a-f]{1,16}", word):
        store, run = store_of(beside), word
    with opened(store) as run_store:
        runs = run_store.runs(ids=[run] if run else [])
    if run and not runs:
        fix = f"`railweave bench show {store}` lists them"
        raise InputError([Problem(Argument(word), f"no run of {store} has an id that begins with {run!r}", fix)])
    return runs


def store_of(word: str) -> str:
    """Return the store in an argument that names a store, or a store and a run separated by ``#``."""
    store, hashed, _ = word.rpartition("#")
    return store if hashed and not Path(word).exists() else word


def located(runs: Iterable[Run], network: Network) -> dict[str, dict[str, str]]:
    """Return, by run id, the settings of runs that are missing in their output but that a plan would have recorded.

    The settings of perftest are ``server``, ``client``, ``color``, ``links`` and ``leaves``. Collectives have only ``leaves``.
    """
    given = list(runs)
    wanted = [run for run in given if run.tool == "perftest"]
    settings = _leaves_of_collectives(given, network)
    if not wanted:
        return settings
    owners = _owners(network)
    nics = {f"{server.name}:{nic.name}": nic for server in network.servers for nic in server.nics}
    routes = ControlPlane((device_config(network, switch.name) for switch in network.switches), network.absent).routes()
    known: dict[tuple[str, str, str], dict[str, str]] = {}
    for run in wanted:
        told = dict(run.settings)
        ends = [told.get(end) or owners.get(address(told.get(gid, "")), ("", ""))[0] for end, gid in ENDS]
        if not all(end in nics for end in ends):
            continue
        color = told.get("color") or owners.get(address(told.get("local GID", "")), ("", ""))[1]
        key = ends[0], ends[1], color
        if key not in known:
            known[key] = _way(network, routes, nics, *key)
        settings[run.id] = {"client": ends[0], "server": ends[1], "color": color, **known[key]}
    return settings


def _leaves_of_collectives(runs: Sequence[Run], network: Network) -> dict[str, dict[str, str]]:
    leaves = {
        server.name.lower(): tuple(dict.fromkeys(nic.leaf for nic in server.nics if nic.leaf))
        for server in network.servers
    }
    settings: dict[str, dict[str, str]] = {}
    for run in runs:
        named = [leaves.get(host.lower().partition(".")[0]) for host in run.hosts]
        if run.tool in {"nccl-tests", "rccl-tests"} and named and all(named):
            crossed = dict.fromkeys(leaf for several in named for leaf in several or ())
            settings[run.id] = {"leaves": " ".join(crossed)}
    return settings


ENDS = (("client", "local GID"), ("server", "remote GID"))
"""The ends of a perftest run and the GID of each. Both ends print the same test; the end that printed this output counts as the client."""


def _owners(network: Network) -> dict[str, tuple[str, str]]:
    """Return the NIC (``SERVER:NIC``) and the path color of each address."""
    return {
        address(nic_address.address): (
            f"{server.name}:{nic.name}",
            network.fabric(nic.fabric).color_name(nic_address.color),
        )
        for server in network.servers
        for nic in server.nics
        for nic_address in nic.addresses
    }


def _way(
    network: Network, routes: Routes, nics: dict[str, Nic], client: str, server: str, color: str
) -> dict[str, str]:
    here = nics[client]
    leaves = " ".join(dict.fromkeys(filter(None, (here.leaf, nics[server].leaf))))
    try:
        paths = queue_pair_paths(network, routes, client, server, max(len(here.addresses), 1))
    except InputError:  # two fabrics, or no addresses
        return {"leaves": leaves}
    path = next((path for path in paths if path.color == color or len(paths) == 1), None)
    links = _links(path) if path is not None else ""
    return {"leaves": leaves, "links": links}


def _links(path: QueuePairPath) -> str:
    """Return the links of a pinned path, or an empty string. For parallel links that a hash selects from, return the two switches."""
    if not path.pinned_to:
        return ""
    return " ".join(hop[0].link if len(hop) == 1 else next(iter(by_ends(hop))) for hop in path.hops)
