"""Checks of the net plugin's setup on this server, with or without a ``host.json``."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import discovery, files, gids
from .checks import server as checks
from .checks.outcome import FAILED, NOT_SEEN, OK, WARNING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .host_file import HostFile
    from .machine import Machine


_PEER_MEMORY = (
    "/sys/kernel/mm/memory_peers/nv_mem/version",
    "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
    "/sys/module/nvidia_peermem/version",
    "/sys/kernel/mm/memory_peers/amdkfd/version",
)
_NVIDIA_OPEN = "/sys/module/nvidia/version"
_TUNER_FILE = "/etc/railweave/tuner.json"
_RETRY_UNIT_MS = 4.096e-3
_WITHOUT_BFD_MS, _AFTER_BFD_MS = 1500, 500


@dataclass(frozen=True)
class Verdict:
    """A finding about the plugin's setup. ``level`` is ``good``, ``warning`` or ``error``; ``what`` is its topic, such as ``speed``."""

    level: str
    what: str
    text: str


_QOS = ("qos-trust", "qos-dscp", "qos-traffic-class", "qos-congestion-control")
"""The checks of ``railweave host check`` that concern the class of RDMA data: trust in DSCP, and ECN."""


def examine(
    plan: HostFile | None, raw: Mapping[str, Any], machine: Machine, variables: Mapping[str, str]
) -> list[Verdict]:
    """Return all findings about the plugin's setup, one for NICs that are alike.

    ``plan`` and ``raw`` are the ``host.json``, validated and as read; without it ``plan`` is None, ``raw`` empty, and what the machine itself
    shows is examined. ``variables`` is the job's environment.
    """
    if plan is None:
        verdicts = [_without_plan(machine), *_own_speeds(machine), *_own_addresses(machine)]
        looked = discovery.discovered(machine, None)
    else:
        verdicts = [*speeds(raw, machine), *_mtus(plan, machine), *_addresses(plan, machine)]
        looked = checks.server(machine, plan, raw)
    verdicts += [
        *_qos(looked),
        _gpu_memory(machine),
        *timeout(raw, variables),
        *variables_of_nccl(variables),
        *tuner(variables),
    ]
    return [*alike(verdicts), build(variables), scheme(raw, variables)]


def alike(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the findings with one for all NICs of which the same is said: ``mlx5_0, mlx5_1 (2): no such RDMA device``."""
    of: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for verdict in verdicts:
        name, colon, text = verdict.text.partition(": ")
        of_nic = bool(colon) and " " not in name
        of[verdict.level, verdict.what, text if of_nic else verdict.text] += [name] if of_nic else []
    merged: list[Verdict] = []
    for (level, topic, text), names in of.items():
        count = f" ({len(names)})" if len(names) > 1 else ""
        merged.append(Verdict(level, topic, f"{', '.join(names)}{count}: {text}" if names else text))
    return merged


def _without_plan(machine: Machine) -> Verdict:
    text = f"not there: {len(gids.devices(machine))} RDMA devices are looked at as they are, without a design to compare them with"
    return Verdict("warning", "host.json", text)


def _rate(machine: Machine, rdma: str, port: int) -> float | None:
    rate = machine.readable(f"{gids.DEVICES}/{rdma}/ports/{port}/rate")
    return float(rate.split()[0]) if rate and rate.split()[0].replace(".", "").isdigit() else None


def _own_speeds(machine: Machine) -> list[Verdict]:
    rates = {(rdma, port): _rate(machine, rdma, port) for rdma, port in gids.ports(machine)}
    if not rates:
        return [Verdict("error", "speed", "no RDMA device: is its driver loaded?")]
    return [
        Verdict("error", "speed", f"{rdma}: its driver tells no rate")
        if rate is None
        else Verdict("good", "speed", f"{rdma}: {rate:g} Gbit/s")
        for (rdma, _), rate in rates.items()
    ]


def _own_addresses(machine: Machine) -> list[Verdict]:
    counts = {rdma: 0 for rdma, _ in gids.ports(machine)}
    for gid in gids.read(machine, None):
        counts[gid.device] += gid.type == gids.V2 and not gid.link_local
    return [
        Verdict(
            "good",
            "paths",
            f"{rdma}: {count} RoCE v2 addresses"
            if count != 1
            else f"{rdma}: one RoCE v2 address, flow labels tell queue pairs apart",
        )
        if count
        else Verdict("error", "paths", f"{rdma}: no routable RoCE v2 address in this network namespace")
        for rdma, count in counts.items()
    ]


def _qos(looked: checks.Server) -> list[Verdict]:
    """Return what the checks of ``railweave host check`` find in DSCP and ECN: right, wrong, and not seen."""
    levels = {OK: "good", FAILED: "error", WARNING: "warning", NOT_SEEN: "warning"}
    verdicts: list[Verdict] = []
    for result in checks.run(looked, checks.chosen(_QOS)):
        outcome = result.outcome
        level = levels.get(outcome.verdict)
        if level is None:
            continue
        state = f"{outcome.seen}, wanted {outcome.wanted}" if outcome.wanted else outcome.seen
        if outcome.verdict == NOT_SEEN:
            state = f"not seen: {outcome.seen}"
        verdicts.append(
            Verdict(level, result.check.id.removeprefix("qos-"), f"{outcome.of}: {state}" if outcome.of else state)
        )
    return verdicts


_LIBRARIES = ("libnccl-net-railweave.so", "librccl-net-railweave.so")
_FOLDERS = (
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
)


def build(variables: Mapping[str, str]) -> Verdict:
    """Return a finding about the plugin's library: where it is and a digest, which must be the same on all servers of a job."""
    named = variables.get("LD_LIBRARY_PATH", "").split(":")
    for folder in [name for name in named if name] + list(_FOLDERS):
        for name in _LIBRARIES:
            file = Path(folder) / name
            try:
                content = file.read_bytes()
            except OSError:
                continue
            wire = re.search(rb"railweave-net wire (\d+)", content)
            version = f"wire version {wire[1].decode()}, " if wire else ""
            return Verdict("good", "build", f"{file}: {version}{hashlib.sha256(content).hexdigest()[:12]}")
    return Verdict(
        "error", "build", f"{_LIBRARIES[0]} is in no folder of LD_LIBRARY_PATH, nor where the loader looks by itself"
    )


def scheme(raw: Mapping[str, Any], variables: Mapping[str, str]) -> Verdict:
    """Return a finding about where path colors come from. Both ends of a connection must take them from the same place."""
    bits = variables.get("RAILWEAVE_NET_COLOR_BITS")
    if bits:
        return Verdict("good", "scheme", f"RAILWEAVE_NET_COLOR_BITS={bits}")
    colors = sorted({
        (address["color"], address.get("color_name", ""))
        for nic in raw.get("nics", []) for address in nic.get("addresses", []) if address.get("color") is not None
    })  # fmt: skip
    if not colors:
        return Verdict("good", "scheme", "no path colors: the rank of an address, and flow labels")
    names = ", ".join(f"{color} {name}".strip() for color, name in colors)
    return Verdict("good", "scheme", f"host.json of {raw.get('network', '')}: {names}")


def compared(verdicts: Sequence[Verdict], others: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Verdict]:
    """Return a finding for each of ``build`` and ``scheme``: whether it is the same here and on the servers in ``others``.

    ``others`` has the output of ``doctor --json`` by the name of its file.
    """
    compared_verdicts: list[Verdict] = []
    for topic in ("build", "scheme"):
        mine = next((_value(verdict.text) for verdict in verdicts if verdict.what == topic), "")
        unlike = {
            name: next(
                (_value(str(verdict.get("text", ""))) for verdict in theirs if verdict.get("what") == topic), "nothing"
            )
            for name, theirs in others.items()
        }
        unlike = {name: value for name, value in unlike.items() if value != mine}
        if unlike:
            differences = "; ".join(f"{name}: {value}" for name, value in unlike.items())
            compared_verdicts.append(Verdict("error", f"same {topic}", f"here {mine}; {differences}"))
        else:
            compared_verdicts.append(
                Verdict("good", f"same {topic}", f"on this server and {len(others)} others: {mine}")
            )
    return compared_verdicts


def _value(text: str) -> str:
    """Return a finding's text without the folder of the library."""
    return re.sub(r"^/\S+/(lib\S+): ", r"\1: ", text)


def read_others(paths: Sequence[Path]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the outputs of ``doctor --json`` in files, by file name. Raises OSError or ValueError for what is not one."""
    return {path.name: list(json.loads(files.content(path))) for path in paths}


def document(verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    """Return the findings as data for JSON."""
    return [asdict(verdict) for verdict in verdicts]


def speeds(raw: Mapping[str, Any], machine: Machine) -> list[Verdict]:
    """Return a finding for each NIC: an error if it is slower than designed or its rate cannot be read. ``raw`` is the content of ``host.json``."""
    verdicts: list[Verdict] = []
    for nic in raw.get("nics", []):
        rdma, wanted = nic.get("rdma", ""), nic.get("speed_gbps")
        there = _rate(machine, rdma, nic.get("rdma_port", 1))
        if there is None:
            verdicts.append(Verdict("error", "speed", f"{rdma}: no such RDMA device, or its driver tells no rate"))
        elif wanted and there < wanted:
            verdicts.append(Verdict("error", "speed", f"{rdma}: runs at {there:g} Gbit/s, the design says {wanted:g}"))
        else:
            verdicts.append(Verdict("good", "speed", f"{rdma}: {there:g} Gbit/s"))
    return verdicts


def _mtus(plan: HostFile, machine: Machine) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for nic in plan.nics:
        mtu = machine.readable(f"/sys/class/net/{nic.netdev}/mtu")
        if not mtu:
            verdicts.append(Verdict("warning", "MTU", f"{nic.netdev}: not seen: it is not there, or tells no MTU"))
        elif int(mtu) < nic.mtu:
            verdicts.append(
                Verdict("error", "MTU", f"{nic.netdev}: has {mtu}, the design says {nic.mtu}: RoCE falls back to less")
            )
        else:
            verdicts.append(Verdict("good", "MTU", f"{nic.netdev}: {mtu}"))
    return verdicts


def _addresses(plan: HostFile, machine: Machine) -> list[Verdict]:
    missing = gids.missing(plan, gids.read(machine, plan))
    verdicts = [
        Verdict(
            "error",
            "paths",
            f"{nic.rdma}: no RoCE v2 GID in {path.prefix} in this network namespace ({path.table_name})",
        )
        for nic, path in missing
    ]
    return verdicts or [Verdict("good", "paths", "every NIC has an address on every path")]


def _gpu_memory(machine: Machine) -> Verdict:
    if any(machine.real(path) for path in _PEER_MEMORY):
        return Verdict("good", "GPU memory", "a peer memory module is loaded: GPUDirect RDMA")
    if machine.real(_NVIDIA_OPEN):
        text = "no peer memory module: GPUDirect RDMA needs DMA-BUF (open kernel modules, Linux 5.12); NCCL's log says GPU Direct RDMA Enabled"
        return Verdict("warning", "GPU memory", text)
    return Verdict(
        "warning", "GPU memory", "no GPU driver with RDMA found: data goes through host memory, at about half the rate"
    )


def timeout(raw: Mapping[str, Any], variables: Mapping[str, str]) -> list[Verdict]:
    """Return a finding if the job sets NCCL_IB_TIMEOUT: an error if the NIC stops retrying before the fabric can reroute, else a warning.

    ``raw`` is the content of ``host.json``, and ``variables`` the job's environment.
    """
    given = variables.get("NCCL_IB_TIMEOUT", "")
    if not given.isdigit():
        return []
    retries = variables.get("NCCL_IB_RETRY_CNT", "")
    lasts_ms = _RETRY_UNIT_MS * 2 ** min(int(given), 31) * (int(retries) + 1 if retries.isdigit() else 8)
    bfd = [fabric.get("bfd_detection_ms") for fabric in raw.get("fabrics", {}).values()]
    detected = max((detection_ms for detection_ms in bfd if detection_ms is not None), default=None)
    reroute_ms = int(
        variables.get("RAILWEAVE_NET_REROUTE_MS") or (_WITHOUT_BFD_MS if detected is None else detected + _AFTER_BFD_MS)
    )
    if lasts_ms < reroute_ms:
        text = f"NCCL_IB_TIMEOUT={given}: the NIC gives up after {lasts_ms:.0f} ms, before the fabric had its {reroute_ms} ms to reroute"
        return [Verdict("error", "timeout", text)]
    return [
        Verdict(
            "warning",
            "timeout",
            f"NCCL_IB_TIMEOUT={given} is not needed: a path is dead after {reroute_ms} ms all the same",
        )
    ]


def variables_of_nccl(variables: Mapping[str, str]) -> list[Verdict]:
    """Return findings about environment variables of NCCL that are harmful or missing."""
    verdicts: list[Verdict] = []
    if variables.get("NCCL_IB_GID_INDEX"):
        verdicts.append(Verdict("error", "variables", "NCCL_IB_GID_INDEX leaves one path per NIC: unset it"))
    if variables.get("NCCL_NET_PLUGIN") not in {"railweave", "libnccl-net-railweave.so", "librccl-net-railweave.so"}:
        verdicts.append(
            Verdict("warning", "variables", "NCCL_NET_PLUGIN does not name railweave: NCCL takes its own transport")
        )
    if variables.get("NCCL_NET_PLUGIN") == "railweave" and variables.get("NCCL_NET") != "railweave":
        verdicts.append(
            Verdict(
                "warning",
                "variables",
                "without NCCL_NET=railweave NCCL goes on in silence where the plugin cannot start",
            )
        )
    return verdicts


def tuner(variables: Mapping[str, str]) -> list[Verdict]:
    """Return a finding about the table from which the plugin chooses NCCL's algorithms, if the job uses that table.

    ``variables`` is the job's environment. All ranks must have the same table, because a rank without it would choose other algorithms.
    """
    if variables.get("RAILWEAVE_NET_TUNER", "0") == "0":
        return []
    table = Path(variables.get("RAILWEAVE_NET_TUNER_FILE") or _TUNER_FILE)
    try:
        rows = len(files.parsed(files.content(table))["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        text = f"RAILWEAVE_NET_TUNER is set, and {table} cannot be read: install hosts/tuner.json of the build on all servers"
        return [Verdict("error", "tuner", text)]
    return [Verdict("good", "tuner", f"{table}: {rows} rows; it must be the same on all servers")]


def load_raw(file: Path) -> dict[str, Any]:
    """Return the JSON content of a ``host.json`` that was already validated."""
    return files.parsed(files.content(file))


def lines(verdicts: list[Verdict]) -> str:
    """Return the findings ``verdicts`` as text, one per line."""
    return "\n".join(f"{verdict.level:<8} {verdict.what:<11} {verdict.text}" for verdict in verdicts)
