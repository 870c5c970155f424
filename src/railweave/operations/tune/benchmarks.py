"""A study's collectives as runs of nccl-tests, and what their results say."""

from __future__ import annotations

import hashlib
import re
from statistics import fmean
from typing import TYPE_CHECKING

from railweave.errors import InputError
from railweave.model.catalog import in_force
from railweave.model.catalog.posting import QUEUE_PAIRS
from railweave.model.device.host import host_config
from railweave.operations.bench.plan import NcclTests, Plan, PlannedRun
from railweave.operations.bench.planning.jobs import jobs
from railweave.operations.bench.running.keeping import PLANNED
from railweave.prediction.collectives.sizes import written
from railweave.prediction.simulation.job_fabric import job_network
from railweave.prediction.simulation.ranks import ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.intent.study import StudyFile, TunedCollective
    from railweave.model.network.model import Network
    from railweave.operations.bench.planning.jobs import Job
    from railweave.operations.store.records import Run

PART = "tune"
"""The part of the plan that these runs are of."""
BUSBW = "busbw_gbytes_per_s"
OUT_OF_PLACE = "out-of-place"


def plan_of(file: StudyFile, fabric: str, own: Network, network: Network, label: str, seeds: Sequence[int]) -> Plan:
    """Every collective of a study once for each seed, one after another, on a network that is in force.

    ``own`` is the design without a trial's values: what these change of a job's environment the runs set themselves. Names of runs begin
    with ``label``. Raises ``InputError`` at the line of a collective that cannot be run.
    """
    runs: list[PlannedRun] = []
    asked = file.study.goal.collectives
    with in_force(network.catalog):
        tests = [_test(file, number, one, own, network) for number, one in enumerate(asked)]
    for seed in seeds:
        for number, test in enumerate(tests):
            limit = file.study.bench.timeout
            name = f"{PART}/{label}/{seed:03}/{number:02}-{test.collective}-{written(test.first_bytes)}"
            why = f"{test.collective} with the values of a trial, run {seed}"
            runs.append(PlannedRun(name, PART, why, test, len(runs), limit, limit, 0.05))
    digest = hashlib.sha256(network.to_json()).hexdigest()
    return Plan(PART, fabric, digest, tuple(runs))


def label_of(words: str) -> str:
    """Words as part of a run's name, fit for a file name; long ones end in a digest of the whole."""
    plain = re.sub(r"[^A-Za-z0-9=._-]+", "-", words).strip("-.") or "own"
    return plain if len(plain) <= 80 else f"{plain[:60]}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def _test(file: StudyFile, number: int, asked: TunedCollective, own: Network, network: Network) -> NcclTests:
    place = ("goal", "collectives", number)
    try:
        job = _job(file, asked, job_network(network, file.study.on))
    except InputError as error:
        raise InputError([file.document.problem(place, one.what, one.fix) for one in error.problems]) from None
    if job is None:
        what = "its servers are not alike, or have no GPUs: nccl-tests cannot run on all of them"
        raise InputError([file.document.problem(place, what, "name servers of one kind: `hosts:`")])
    variables = _changed(own, network, job.hosts[0], asked.tenant or "")
    if asked.qps is not None:
        variables[QUEUE_PAIRS] = str(asked.qps)
    variables |= {name: _text(value) for name, value in asked.nccl.items()}
    return NcclTests(
        asked.collective,
        job.hosts,
        per_host=job.gpus,
        gpus=1,
        first_bytes=asked.size,
        last_bytes=asked.size,
        variables=tuple(variables.items()),
        tenant=job.tenant,
    )


def _job(file: StudyFile, asked: TunedCollective, network: Network) -> Job | None:
    """The servers of a collective; None where there is no one job of them."""
    tenants = {tenant.name for fabric in network.fabrics for tenant in fabric.tenants}
    if tenants and asked.tenant not in tenants:
        what = f"there is no tenant {asked.tenant!r}" if asked.tenant else "it is not said which tenant's job it is"
        raise InputError([file.document.problem(("goal",), what, f"tenants are {', '.join(sorted(tenants))}")])
    if not tenants and asked.tenant:
        raise InputError(
            [file.document.problem(("goal",), f"there is no tenant {asked.tenant!r}", "leave `tenant:` out")]
        )
    here = [one.name for one in network.servers if one.name not in network.absent]
    of_tenant = [one for one in jobs(network, here) if one.tenant == (asked.tenant or "")]
    if asked.hosts is not None:
        known = {host: stripe for one in of_tenant for host, stripe in one.stripe_of.items() if host in one.hosts}
        of_tenant = [one for one in jobs(network, ordered(known, asked.hosts)) if one.tenant == (asked.tenant or "")]
    return of_tenant[0] if len(of_tenant) == 1 else None


def _changed(own: Network, network: Network, server: str, tenant: str) -> dict[str, str]:
    """What a trial's values change of the environment of a server's job."""
    before, after = (_environment(one, server, tenant) for one in (own, network))
    return {name: value for name, value in after.items() if before.get(name) != value}


def _environment(network: Network, server: str, tenant: str) -> dict[str, str]:
    config = host_config(network, server)
    variables = dict(config.tenant_jobs).get(tenant, config.job)
    return {one.name: one.value for one in variables if not one.resolve}


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def bandwidths(plan: Plan, runs: Sequence[Run]) -> tuple[dict[str, float], str]:
    """The bus bandwidth of each run by its name, GB/s, and why one failed, or nothing."""
    found: dict[str, float] = {}
    kept = {dict(one.settings).get(PLANNED, ""): one for one in runs}
    for planned in plan.runs:
        run = kept.get(planned.name)
        if run is None:
            return found, f"{planned.name} was not run"
        if run.failures:
            return found, f"{planned.name}: {run.failures[0]}"
        rows = [one for one in run.samples if one.quantity == BUSBW]
        rows = [one for one in rows if one.place == OUT_OF_PLACE] or rows
        if not rows:
            return found, f"{planned.name} printed no bus bandwidth"
        found[planned.name] = fmean(one.value for one in rows)
    return found, ""
