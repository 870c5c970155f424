"""Predicted figures as thresholds of other people's acceptance tests (docs/export/acceptance.md).

Sources, each at the version that docs/export/acceptance.md names: ROCm CVS, ``cvs/lib/rccl_lib.py`` (its functions rccl_perf and check_bus_bw);
gcm, ``gcm/health_checks/checks/check_nccl.py``; NVSentinel, docs/configuration/preflight.md; k8s-launch-kit,
docs/user/validation.md.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from railweave.model.catalog import in_force
from railweave.model.intent.base import host_lists
from railweave.operations.exports.figures import FAR, NEAR, SERVER, WRITE, Figure, JobFigures, job_figures
from railweave.operations.exports.placement import placements
from railweave.pages.table import columns, csv_text
from railweave.prediction.collectives.program import written
from railweave.reading import packaged_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.network.model import Network

TESTS = {
    "all-reduce": "all_reduce",
    "all-gather": "all_gather",
    "reduce-scatter": "reduce_scatter",
    "all-to-all": "alltoall",
    "send-recv": "sendrecv",
}
"""The programs of nccl-tests and rccl-tests, without ``_perf``, by collective."""
CVS_NICS = {"AMD": "ainic", "Broadcom": "thor", "NVIDIA": "connectx"}
"""The values of ``nic_model`` in CVS, by NIC vendor."""
GCM_TESTS = ("all-reduce", "all-gather", "all-to-all")
"""The collectives that gcm's ``check-nccl`` accepts (its type NCCL_OPERATION)."""
GCM_GROUPS = {SERVER: ("server", "single"), NEAR: ("pair-in-stripe", "pairwise"), FAR: ("pair-across", "pairwise")}
"""The part of a file name, and gcm's ``flavor``, by group of servers."""
NVSENTINEL_CONTAINERS = ("preflight-nccl-loopback", "preflight-nccl-allreduce")
"""The preflight containers of NVSentinel that compare a bandwidth: of one server, and of all servers of a gang."""
FILL_IN = "<changeme>"
"""The text by which CVS marks values that the operator fills in. CVS refuses to start while one is left."""


def files(network: Network) -> dict[str, str]:
    """Return the files of all tools, by relative name. Raises ``InputError`` if no server has a GPU with a NIC of its own, or the simulator cannot answer a question."""
    placements(network)
    with in_force(network.catalog):
        jobs, notes = job_figures(network)
    result = {"figures.csv": _csv([figure for job in jobs for figure in job.figures])}
    for job in jobs:
        for name, text in {**_cvs(job), **_gcm(job), **_nvsentinel(job), **_l8k(job)}.items():
            folder, _, file = name.partition("/")
            result[f"{folder}/{job.label}-{file}" if len(jobs) > 1 else name] = text
    return result | {"README.md": _readme(network, jobs, notes, result)}


def _cvs(job: JobFigures) -> dict[str, str]:
    """Return CVS's configuration of RCCL tests on all servers.

    CVS looks expected results up in ``cvs_params``, by NIC, then by program, data type and number of ranks, then by size.
    """
    known = [figure for figure in job.figures if len(figure.hosts) == len(job.hosts) and figure.threshold is not None]
    known = [figure for figure in known if figure.test in TESTS]
    if job.vendor != "AMD" or not known:
        return {}
    results = {
        f"{TESTS[figure.test]}_perf-float-{figure.ranks}": {
            str(figure.size_bytes): {"bus_bw": f"{figure.threshold:.2f}"}
        }
        for figure in known
    }
    nic = CVS_NICS.get(job.nic_vendor, "ainic")
    sizes = sorted({figure.size_bytes for figure in known})
    content = {
        "rccl": {
            "mpi_params": {
                "no_of_nodes": str(len(job.hosts)),
                "no_of_local_ranks": str(job.gpus),
                "mpi_dir": FILL_IN,
                "mpi_oob_port": FILL_IN,
            },
            "env_source_script": FILL_IN,
            "rccl_test_params": {
                "rccl_collective": [f"{TESTS[figure.test]}_perf" for figure in known],
                "rccl_tests_dir": FILL_IN,
                "start_msg_size": str(sizes[0]),
                "end_msg_size": str(sizes[-1]),
                "step_function": "2",
                "data_types": ["float"],
            },
            "cvs_params": {
                "nic_model": nic,
                "verify_bus_bw": "True",
                "rccl_result_file": "/tmp/rccl_result_file.json",  # noqa: S108 (CVS's own default folder, on its head node)
                "results": {nic: results},
            },
        }
    }
    return {"cvs/rccl_config.json": json.dumps(content, indent=4) + "\n"}


def _gcm(job: JobFigures) -> dict[str, str]:
    """Return a configuration of gcm's ``check-nccl`` for each group of servers and collective: a configuration has one threshold."""
    result: dict[str, str] = {}
    for figure in job.figures if job.vendor == "NVIDIA" else ():
        if figure.test not in GCM_TESTS or figure.group not in GCM_GROUPS or figure.threshold is None:
            continue
        name, flavor = GCM_GROUPS[figure.group]
        size = figure.size_bytes
        result[f"gcm/{name}-{TESTS[figure.test]}.toml"] = (
            f"# {figure.test} of {figure.group}, {written(size)}: predicted {figure.value:.1f} GB/s, "
            f"band {figure.low:.1f} to {figure.high:.1f}.\n"
            "[health_checks.check-nccl]\n"
            f'flavor = "{flavor}"\n'
            f'operations = ["{TESTS[figure.test]}"]\n'
            f"gpus_per_node = {job.gpus}\n"
            "# The prediction is of a run that uses NVLink inside servers.\n"
            "nvlink = true\n"
            f'nccl_topts = "-g 1 -b {size} -e {size}"\n'
            f"critical_threshold = {figure.threshold:.2f}\n"
        )
    return result


def _nvsentinel(job: JobFigures) -> dict[str, str]:
    """Return the environment of NVSentinel's preflight containers. Its all-reduce has one threshold for a gang of any size."""
    if job.vendor != "NVIDIA":
        return {}
    content: dict[str, Any] = {}
    for container, hosts, size_name in (
        (NVSENTINEL_CONTAINERS[0], 1, "TEST_SIZE_MB"),
        (NVSENTINEL_CONTAINERS[1], len(job.hosts), "MESSAGE_SIZES"),
    ):
        for figure in job.figures:
            if (figure.test, len(figure.hosts)) == ("all-reduce", hosts) and figure.threshold is not None:
                size = written(figure.size_bytes) if hosts > 1 else str(figure.size_bytes >> 20)
                content[container] = [
                    {"name": "BW_THRESHOLD_GBPS", "value": f"{figure.threshold:.2f}"},
                    {"name": size_name, "value": size},
                ]
    if not content:
        return {}
    head = f"# Environment of NVSentinel's preflight containers, for gangs of {len(job.hosts)} servers. README.md says how to insert it.\n"
    return {"nvsentinel/preflight-env.yaml": head + yaml.safe_dump(content, sort_keys=False)}


def _l8k(job: JobFigures) -> dict[str, str]:
    """Return the validation settings of l8k. It has one threshold for all pairs: that of the slowest kind of pair."""
    known = [figure for figure in job.of(WRITE) if figure.threshold is not None]
    if job.vendor != "NVIDIA" or job.nic_vendor != "NVIDIA" or not known:
        return {}
    lowest = min(known, key=lambda figure: figure.low)
    content = {
        "validation": {
            "checks": ["icmp", "rping", "ib_write_bw"],
            "rdma": {"ibWriteSize": lowest.size_bytes, "ibWriteMinBandwidthGbps": lowest.threshold},
        }
    }
    head = "# Part of l8k's cluster-config.yaml: put these keys into the file that `l8k discover` wrote.\n"
    return {"l8k/validation.yaml": head + yaml.safe_dump(content, sort_keys=False)}


_COLUMNS = ("job", "test", "servers", "ranks", "size_bytes", "unit", "predicted", "low", "high", "threshold")


def _csv(figures: Sequence[Figure]) -> str:
    rows: list[tuple[object, ...]] = []
    for figure in figures:
        threshold = "" if figure.threshold is None else f"{figure.threshold:.2f}"
        numbers = [f"{number:.2f}" for number in (figure.value, figure.low, figure.high)]
        rows.append(
            (
                *(figure.job, figure.test, figure.group, figure.ranks, figure.size_bytes, figure.unit),
                *(*numbers, threshold, " ".join(figure.hosts), figure.method, figure.beyond, figure.left_out),
            )
        )
    return csv_text(columns(*_COLUMNS, "example", "basis", "beyond", "left_out"), rows)


def _readme(network: Network, jobs: Sequence[JobFigures], notes: Sequence[str], texts: Mapping[str, str]) -> str:
    """Return the text of README.md. ``texts`` are the other files, by relative name."""
    figures = [figure for job in jobs for figure in job.figures]
    known = [figure for figure in figures if figure.threshold is not None]
    left: dict[str, list[str]] = {}
    for figure in figures:
        if figure.left_out:
            left.setdefault(figure.left_out, []).append(_named(figure))
    lines = [
        f"# Thresholds for acceptance tests of {network.name}",
        "",
        "Written by `railweave export acceptance`. A threshold is the lower end of the band of railweave's prediction.",
        "The predictions assume the variables of the design's nccl.env: run the tests with them. `figures.csv` has every",
        "prediction with its band, and the published results that the band is based on.",
        "",
        "## Thresholds",
        "",
        "| job | test | servers | size | predicted | threshold | beyond the published results |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {figure.job} | {figure.test} | {_of_group(figure, known)} | {written(figure.size_bytes)} "
            f"| {figure.value:.1f} {figure.unit} | {figure.threshold:.2f} {figure.unit} | {figure.beyond} |"
            for figure in known
        ),
        "",
        "## Left out",
        "",
        *(f"- {'; '.join(which)}: {why}" for why, which in left.items()),
        *(f"- {note}" for note in notes),
        "- broadcast, gather, scatter, all-to-all with unequal parts: not predicted",
        "",
        "## Use",
        "",
    ]
    for folder, text in _USE.items():
        if given := [name for name in texts if name.startswith(f"{folder}/")]:
            lines += [f"### {', '.join(given)}", "", *text.strip().splitlines(), ""]
            if folder == "nvsentinel":
                lines += [*_nvsentinel_commands({name: texts[name] for name in given}), ""]
            if folder == "gcm":
                lines += [*_gcm_hosts(jobs, given), ""]
        else:
            lines += [f"### {folder}", "", f"No file: {_absent(folder, jobs)}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _of_group(figure: Figure, known: Iterable[Figure]) -> str:
    """Return the group of a figure, with its example if the figure is not the only such figure of its job in ``known``."""
    alike = [each for each in known if (each.job, each.test, each.group) == (figure.job, figure.test, figure.group)]
    return figure.group if len(alike) == 1 else f"{figure.group} ({' '.join(figure.hosts)})"


def _nvsentinel_commands(texts: Mapping[str, str]) -> list[str]:
    """Return the commands that insert NVSentinel's file, or the one with the lowest value. ``texts`` are the files, by relative name."""

    def value(name: str) -> float:
        content = packaged_yaml(texts[name])
        return float(content[max(content, key=NVSENTINEL_CONTAINERS.index)][0]["value"])

    lowest = min(texts, key=value)
    commands = [
        "In this folder, with `values.yaml` as your values:",
        *("", *_INSERT.replace("FILE", lowest).strip("\n").splitlines()),
    ]
    if len(texts) == 1:
        return commands
    return [
        "NVSentinel has one threshold for the cluster: use the file with the lowest value, or install the chart per fabric.",
        *(f"The lowest value is in `{lowest}`.", "", *commands),
    ]


def _named(figure: Figure) -> str:
    job = f"{figure.job}: " if figure.job else ""
    return f"{job}{figure.test} of {figure.group}, {written(figure.size_bytes)}"


def _absent(folder: str, jobs: Iterable[JobFigures]) -> str:
    vendor = "AMD" if folder == "cvs" else "NVIDIA"
    if not any(job.vendor == vendor for job in jobs):
        return f"no server has GPUs of {vendor}"
    if folder == "l8k" and not any(job.vendor == job.nic_vendor == vendor for job in jobs):
        return "no server has NICs of NVIDIA"
    return "no figure that it compares has a threshold; see above"


def _gcm_hosts(jobs: Iterable[JobFigures], names: Sequence[str]) -> list[str]:
    """Return the host lists for gcm's files: all servers, those of each stripe, and one server of each stripe."""
    lines: list[str] = []
    for job in (job for job in jobs if job.vendor == "NVIDIA"):
        groups: dict[str, list[Sequence[str]]] = {
            "server": [job.hosts],
            "pair-in-stripe": [hosts for hosts in job.stripes.values() if len(hosts) > 1],
            "pair-across": [[hosts[0] for hosts in job.stripes.values()]],
        }
        for start, lists in groups.items():
            if named := [name for name in names if f"/{job.label}-{start}-" in name or f"/{start}-" in name]:
                lines += [f"- {', '.join(named)}: `--hostlist {','.join(host_lists(hosts))}`" for hosts in lists]
    return lines


_USE = {
    "cvs": """
Fill in each `<changeme>` (Open MPI, the interface for it, a script that exports the variables of nccl.env, rccl-tests). Then
`cvs run rccl_perf --cluster_file CLUSTER --config_file rccl_config.json`. CVS fails a test at 5 % below the expected value,
so it accepts results down to 0.95 times the threshold. `pairwise_min_bw` is not set: CVS compares jobs of every number of
servers with it.
""",
    "gcm": """
`health_checks --config FILE check-nccl CLUSTER prolog --nccl-tdir FOLDER --hostlist HOSTS -x VARIABLE=VALUE ...`, with a `-x` for
each variable of nccl.env. The check is critical (exit code 2) below the threshold. Each file is for these servers:
""",
    "nvsentinel": """
The check reports to NVSentinel below the threshold. NVSentinel has one threshold for gangs of every size: where jobs have
other sizes, predict them with `railweave sim --hosts`. DCGM's own checks are not changed.

Set these variables in the list `initContainers` of the preflight chart's values. Helm replaces lists, so change your own values.
Needs yq 4 of Mike Farah.
""",
    "l8k": """
Put the keys into the cluster-config.yaml that `l8k discover` wrote, or give them as
`--rdma-ib-write-size` and `--rdma-ib-write-min-bandwidth-gbps` of `l8k validate`. l8k compares the peak of `ib_write_bw`, which is
at least the average that was predicted. The threshold is that of the slowest kind of pair.
""",
}
"""The use of each tool's file, by folder."""

_INSERT = """
    yq '(.preflight.initContainers[] | .env) |= (. // [])' -i values.yaml
    for container in preflight-nccl-loopback preflight-nccl-allreduce; do
        CONTAINER=$container yq -i '(.preflight.initContainers[] | select(.name == strenv(CONTAINER)) | .env) |=
            ((. + (load("FILE")[strenv(CONTAINER)] // [])) | group_by(.name) | map(.[-1]))' values.yaml
    done
"""
"""The commands that insert NVSentinel's variables; ``FILE`` is the name of the file."""
