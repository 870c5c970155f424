"""The steps of the command line as functions, for notebooks and scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.design.network import Network
from railweave.device.build import device_config
from railweave.errors import InputError, Problem
from railweave.intent.lock import read_lock
from railweave.outputs.steps import LOCK, Built, design_file
from railweave.outputs.steps import build as _build
from railweave.routing.control_plane import ControlPlane
from railweave.routing.paths import queue_pair_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.checks.run import Verified
    from railweave.intent.lock import Lock
    from railweave.routing.paths import QueuePairPath
    from railweave.routing.table import Routes
    from railweave.simulation.job_run import JobPrediction

Input = Network | Path | str


def load(fabric: Path | str, lock: Lock | None = None, *, device: Sequence[str] = ()) -> Network:
    """The network of a fabric file, or of a ``build`` output folder (its design.json).

    ``lock`` replaces the one beside the fabric file. ``device`` gives roles other switches than the file does:
    ``leaf=MODEL:NOS``, as ``--device`` takes it. Raises ``InputError`` with file and line of everything wrong.
    """
    path = Path(fabric)
    if path.is_dir():
        _as_built(path, device)
        return _from_folder(path)
    network, _ = design_file(path, lock, device=device)
    return network


def load_pair(old: Path | str, new: Path | str, *, device: Sequence[str] = ()) -> tuple[Network, Network]:
    """Two networks to compare; a new fabric file is designed with the allocations of an old one.

    Where it has no inventory of its own, as a copy made to try something has not, the old one's is used. ``device`` is
    that of ``load``, for the new one: so a file compared with itself shows what other switches would change.
    """
    if Path(old).is_dir():
        return load(old), load(new, read_lock(Path(old) / LOCK), device=device)
    network, lock = design_file(Path(old))
    if Path(new).is_dir():
        return network, load(new, device=device)
    return network, design_file(Path(new), lock, inventory_of=Path(old), device=device)[0]


def _as_built(folder: Path, device: Sequence[str]) -> None:
    """Raise ``InputError`` where a build is to be one of other switches."""
    if device:
        fix = "give the fabric file, or build it again with --device"
        raise InputError([Problem(f"--device {device[0]}", 0, f"{folder} is built for the switches it has", fix)])


def _from_folder(folder: Path) -> Network:
    from pydantic import ValidationError

    file = folder / "design.json"
    try:
        network = Network.from_json(file.read_bytes())
    except FileNotFoundError:
        raise InputError(
            [
                Problem(
                    str(folder),
                    0,
                    "no design.json here",
                    "name a fabric file or the output folder of `railweave build`",
                )
            ]
        ) from None
    except ValidationError as error:
        what = f"not a design of this version: {error.errors()[0]['msg']}"
        raise InputError([Problem(str(file), 0, what, "build it again")]) from None
    dangling = network.dangling()
    if dangling:
        raise InputError([Problem(str(file), 0, f"the design is damaged: {dangling}", "build it again")])
    return network


def _network(source: Input, device: Sequence[str] = ()) -> Network:
    return source if isinstance(source, Network) else load(source, device=device)


def build(fabric: Path | str, out: Path | str, **options: Any) -> Built:  # noqa: ANN401 - options of railweave.outputs.steps.build
    """Build a fabric file into a folder: see ``railweave.outputs.steps.build``."""
    return _build(Path(fabric), Path(out), **options)


def verify(source: Input, *, device: Sequence[str] = (), **options: Any) -> Verified:  # noqa: ANN401 - options of railweave.checks.run.verify
    """Every check and every outside validator that is there: see ``railweave.checks.run.verify`` for the options.

    ``device`` is that of ``load``.
    """
    from railweave.checks.run import verify as run  # brings every check and renderer with it

    folder = Path(source) if not isinstance(source, Network) and Path(source).is_dir() else None
    return run(_network(source, device), folder=folder, **options)


def routes(source: Input, down: Iterable[str] = ()) -> Routes:
    """The forwarding tables with ``down`` links (``leaf:port--spine:port``, either end first), switches and servers gone.

    Raises ``InputError`` for a name that is none of these.
    """
    network = _network(source)
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    return plane.routes(_down(network, down))


def _down(network: Network, names: Iterable[str]) -> list[str]:
    links = {cable.name for cable in network.cables}
    devices = {device.name for device in (*network.switches, *network.servers)}
    found: list[str] = []
    for name in names:
        turned = "--".join(reversed(name.split("--")))
        if name in links or name in devices:
            found.append(name)
        elif turned in links:
            found.append(turned)
        else:
            fix = "links are leaf:port--spine:port, as in cabling.csv"
            raise InputError([Problem(name, 0, "neither a link nor a switch nor a server", fix)])
    return found


def paths(source: Input, src: str, dst: str, qps: int = 1, down: Iterable[str] = ()) -> list[QueuePairPath]:
    """The path of each queue pair from NIC ``src`` to NIC ``dst``, both ``SERVER:NIC``."""
    network = _network(source)
    return queue_pair_paths(network, routes(network, down), src, dst, qps)


def simulate(
    source: Input,
    collective: str | None = None,
    size: int | str | None = None,
    *,
    qps: int | None = None,
    nccl: Iterable[str] | Mapping[str, str] = (),
    lb: str | None = None,
    settings: Mapping[str, str] | None = None,
    background: str | None = None,
    scenario: Path | str | None = None,
    fib: Path | str | None = None,
    tenant: str | None = None,
    fabric: str | None = None,
    engine: str = "auto",
    exact: bool = False,
    watch: bool = True,
) -> JobPrediction:
    """What a collective, or the job of a scenario file, gets on a network (docs/predict.md).

    Arguments are those of ``railweave sim``: ``size`` in bytes, or as ``8G``; without collective, size and a scenario's
    traffic it is an all-reduce of 1G. ``links``, ``flows``, ``series``, ``queues`` and ``rates`` of the result are columns
    for ``pandas.DataFrame`` or ``polars.DataFrame``; the last three need ``watch``, which changes no result. Raises
    ``InputError``.
    """
    from railweave.simulation.job_fabric import job_network
    from railweave.simulation.question import answer, questions

    network = job_network(_network(source), fabric)
    asked = questions(
        network,
        {
            "collective": collective,
            "size": size,
            "qps": qps,
            "nccl": nccl,
            "lb": lb,
            "settings": settings,
            "background": background,
            "scenario": None if scenario is None else Path(scenario),
            "fib": None if fib is None else Path(fib),
            "tenant": tenant,
            "engine": engine,
            "exact": exact,
        },
    )
    if len(asked) != 1:
        raise InputError([Problem("size", 0, f"{size!r} are several sizes", "give one")])
    return answer(network, asked[0], watch=watch)
