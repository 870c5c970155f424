"""What a job gets on a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from railweave.api.sources import network_of, path_of
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.grid import Grid
    from railweave.prediction.simulation.job_run import JobPrediction
    from railweave.prediction.simulation.training.answer import TrainingPrediction


def simulate(
    source: Network | Path | str,
    collective: str | None = None,
    size: int | str | None = None,
    *,
    qps: int | None = None,
    nccl: Iterable[str] | Mapping[str, str] = (),
    lb: str | None = None,
    settings: Mapping[str, str] | None = None,
    background: str | None = None,
    scenario: Path | str | None = None,
    hosts: str | None = None,
    per_host: int | None = None,
    fib: Path | str | None = None,
    tenant: str | None = None,
    fabric: str | None = None,
    engine: Literal["auto", "packet", "flow"] = "auto",
    exact: bool = False,
    seeds: int = 1,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    configs: Mapping[str, DeviceConfig] | None = None,
    watch: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> JobPrediction:
    """What a collective, or the job of a scenario file, gets on a network (docs/predict.md).

    - ``collective``: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all or send-recv; all-reduce where
      neither it nor a scenario's traffic is given.
    - ``size``: bytes, as nccl-tests counts them, or a text such as ``8G`` (8 x 2^30); 1G where it is left out.
    - ``qps``: queue pairs per connection; where it is left out the fabric file's (`hosts.job`), or one per path color.
    - ``nccl``: parameters of NCCL, by name or as ``KEY=VALUE`` words (docs/collectives.md).
    - ``lb``: how switches share: ecmp, dlb, dlb-per-packet, spray or rlb, with knobs: ``dlb:inactivity=64us``.
    - ``settings``: parameters of the engine, by name (docs/sim.md).
    - ``background``: traffic of others: ``share=30%,ports=*:gpu0_eth,qps=4,packet=9000``.
    - ``scenario``: a scenario file with traffic, background, overrides and faults; other arguments override it, but
      where it has traffic, ``collective``, ``size`` and ``qps`` are refused.
    - ``hosts``: servers in the order of their ranks, ``H100-03,H100-[01-02]``, how many of the first (``"4"``), or
      ``stripes-alternate``; all in the order of the fabric file where it is left out.
    - ``per_host``: processes on each server, which share its GPUs; one for each GPU where it is left out.
    - ``fib``: a file of forwarding tables as exported, instead of those that are computed.
    - ``tenant``, ``fabric``: whose job it is, and on which fabric, where there are several.
    - ``engine``: packets, flows, or ``auto``: flows above 200 million estimated packet hops.
    - ``exact``: run packets to the end; else a long run is stopped when every round is alike.
    - ``seeds``: run so many seeds in parallel processes, of which the median is given: ``band`` of a collective, or
      ``seeds_ps`` of a job, has what chance makes of it.
    - ``device``, ``hardware``: see ``load``.
    - ``configs``: configurations of switches in place of the designed ones, as ``running`` gives them.
    - ``watch``: collect ``series``, ``queues`` and ``rates`` over time, which changes no result.
    - ``progress``: called now and then with which collective runs, how many messages arrived, and how many there are.

    Times end in ``_ps`` (10^-12 s) or ``_us``, sizes in ``_bytes``, rates in ``_gbps`` (10^9 bit/s) or ``_gbytes`` (10^9
    byte/s). ``links``, ``flows``, ``series``, ``queues`` and ``rates`` of the result are columns for
    ``polars.DataFrame`` or ``pandas.DataFrame``. Raises ``InputError`` for an argument or a scenario that cannot be, several
    sizes among them, and as ``load`` does.
    """
    from railweave.prediction.simulation.job import job_network
    from railweave.prediction.simulation.question import answer, questions
    from railweave.prediction.simulation.settings import by_name

    network = job_network(network_of(source, device, hardware), fabric)
    with in_force(network.catalog):
        given = {
            "collective": collective,
            "size": size,
            "qps": qps,
            "nccl": by_name(nccl, "--nccl"),
            "lb": lb,
            "settings": settings,
            "background": background,
            "scenario": path_of(scenario),
            "hosts": hosts,
            "per_host": per_host,
            "fib": path_of(fib),
            "tenant": tenant,
            "engine": engine,
            "exact": exact,
            "configs": configs,
        }
        if seeds > 1:
            from railweave.prediction.simulation.seeds import over_seeds

            return over_seeds(network, given, seeds, watch=watch)
        asked = questions(network, given)
        if len(asked) != 1:
            raise InputError([Problem(Argument("size"), f"{size!r} are several sizes", "give one")])
        return answer(network, asked[0], watch=watch, progress=progress)


def simulate_grid(
    source: Network | Path | str,
    varied: Mapping[str, Iterable[int | str]],
    collective: str | None = None,
    size: int | str | None = None,
    *,
    qps: int | None = None,
    nccl: Iterable[str] | Mapping[str, str] = (),
    lb: str | None = None,
    settings: Mapping[str, str] | None = None,
    background: str | None = None,
    scenario: Path | str | None = None,
    hosts: str | None = None,
    per_host: int | None = None,
    fib: Path | str | None = None,
    tenant: str | None = None,
    fabric: str | None = None,
    engine: Literal["auto", "packet", "flow"] = "auto",
    exact: bool = False,
    measured: Path | str | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    configs: Mapping[str, DeviceConfig] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Grid:
    """What a collective gets with every combination of what is varied, in parallel processes (docs/predict.md, Grids).

    - ``varied``: values by name, as ``--compare`` has the names:
      ``{"hosts": ["H100-[01-02]", "H100-[01-04]"], "per-host": [1, 8], "size": ["1M", "1G"]}``. Each value stands for itself, so a list of
      servers may have commas.
    - ``collective``, ``size``, ``qps``, ``nccl``, ``lb``, ``settings``, ``background``, ``scenario``, ``hosts``, ``per_host``, ``fib``,
      ``tenant``, ``fabric``, ``engine``, ``exact``, ``configs``: what stays the same, see ``simulate``.
    - ``measured``: a CSV file of measured points, which stand beside predictions.
    - ``device``, ``hardware``: see ``load``; ``progress``: called with how many are done.

    ``cells`` of the result has each combination and its prediction, ``to_text`` a table, ``fit`` the rate that a line over sizes tends to.
    Scripts that call this ask ``if __name__ == "__main__":`` first, as the processes import the script again. Raises ``InputError``
    for a value that cannot be, for more than 400 combinations, and as ``load`` does.
    """
    from railweave.prediction.simulation.grid import dimensions_of, grid
    from railweave.prediction.simulation.job import job_network
    from railweave.prediction.simulation.settings import by_name

    network = job_network(network_of(source, device, hardware), fabric)
    with in_force(network.catalog):
        given = {
            "collective": collective,
            "size": size,
            "qps": qps,
            "nccl": by_name(nccl, "--nccl"),
            "lb": lb,
            "settings": settings,
            "background": background,
            "scenario": path_of(scenario),
            "hosts": hosts,
            "per_host": per_host,
            "fib": path_of(fib),
            "tenant": tenant,
            "engine": engine,
            "exact": exact,
            "configs": configs,
        }
        wanted = dimensions_of((name, map(str, values)) for name, values in varied.items())
        return grid(network, wanted, given, measured=path_of(measured), progress=progress)


def simulate_training(
    source: Network | Path | str,
    job: Path | str,
    *,
    changes: Mapping[str, str] | None = None,
    lb: str | None = None,
    qps: int | None = None,
    settings: Mapping[str, str] | None = None,
    scenario: Path | str | None = None,
    others: Path | str | None = None,
    background: str | None = None,
    engine: str = "flow",
    check_packets: bool = False,
    fabric: str | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> TrainingPrediction:
    """How long a step of each training job of a file takes on a network, and what GPUs wait for (docs/jobs.md).

    - ``job``: a job file (docs/job-file.md); ``changes``: fields of its jobs in place of those of the file, by path: ``parallel.tensor``.
    - ``lb``, ``settings``, ``fabric``: see ``simulate``; ``qps``: queue pairs per connection of jobs that say none.
    - ``scenario``: a scenario file of which faults, which have happened before and routes have followed, and background traffic count.
    - ``others``: a file of jobs that run beside these; ``background``: as of ``simulate``, with ``to=intra-stripe``, ``inter-stripe`` or NICs.
    - ``engine``: flow, or packet: what is sent takes as long as its packets alone did; ``check_packets``: run packets too, beside flows (``checked``).
    - ``device``, ``hardware``: see ``load``; ``progress``: called with what is being done.

    Times end in ``_ps`` (10^-12 s). Raises ``InputError`` for what cannot be, with lines of the files, and as ``load`` does.
    """
    from railweave.prediction.simulation.job import job_network
    from railweave.prediction.simulation.question import background as traffic
    from railweave.prediction.simulation.training.question import predict_training

    whole = network_of(source, device, hardware)
    network = job_network(whole, fabric)
    with in_force(whole.catalog):
        return predict_training(
            network,
            Path(job),
            whole=whole,
            changes=changes,
            lb=lb,
            qps=qps,
            settings=settings,
            scenario=None if scenario is None else Path(scenario),
            others=None if others is None else Path(others),
            background=None if background is None else traffic(background),
            engine=engine,
            check=check_packets,
            progress=progress,
        )
