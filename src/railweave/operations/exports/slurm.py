"""Slurm's topology, nodes and GPUs, and the scripts that check a server before a job (docs/export/slurm.md).

Sources: the Slurm manual pages topology.yaml(5), topology.conf(5), gres.conf(5) and slurm.conf(5), and "Prolog and Epilog Guide".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from railweave.model.intent.base import host_lists
from railweave.operations.exports.contracts import NameRule, check_names
from railweave.operations.exports.placement import Group, placements, tree, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.exports.placement import Placement

NODE = NameRule(
    "a Slurm node", r"[A-Za-z0-9._-]+", "letters, digits, dots, hyphens and underscores", 64, "slurm.conf(5), NodeName"
)
SWITCH = NameRule(
    "a Slurm switch",
    r"[A-Za-z0-9._-]+",
    "letters, digits, dots, hyphens and underscores",
    64,
    "topology.conf(5), SwitchName",
)
HOST = "/usr/local/bin/railweave-host"
"""The program railweave-host, where `railweave host zipapp` is installed on servers (docs/howto/bring-up-a-gpu-server.md)."""
FOLDER = "/etc/slurm"


def files(network: Network) -> dict[str, str]:
    """Return the files for Slurm, by name. Raises ``InputError`` if Slurm would refuse a name."""
    places = placements(network)
    check_names(NODE, (place.server for place in places))
    groups = tree(network, places)
    check_names(SWITCH, (group.name for group in walk(groups)))
    check_names(SWITCH, _blocks(places, groups))
    return {
        "topology.yaml": _topology_yaml(network, places, groups),
        "topology.conf": _topology_conf(network, groups),
        "nodes.conf": _nodes(network, places, groups),
        "gres.conf": _gres(network, places),
        "railweave.conf": _include(network),
        "railweave-prolog.sh": _PROLOG,
        "railweave-task-prolog.sh": _TASK_PROLOG,
        "railweave-health.sh": _HEALTH,
        **_batches(network, places, groups),
    }


def _head(network: Network, *lines: str) -> str:
    return "".join(f"# {line}\n" for line in (f"Written by `railweave export slurm` for {network.name}.", *lines))


def _hosts(names: Iterable[str]) -> str:
    """Return names as a Slurm host list, such as ``H100-[01-04],H200-01``."""
    return ",".join(host_lists(list(names)))


def _topology_yaml(network: Network, places: Sequence[Placement], groups: Sequence[Group]) -> str:
    switches: list[dict[str, str]] = []
    for group in walk(groups):
        inside = _hosts(inner.name for inner in group.groups) if group.groups else _hosts(group.servers)
        switches.append({"switch": group.name, "children" if group.groups else "nodes": inside})
    content: list[dict[str, object]] = [{"topology": "tree", "cluster_default": True, "tree": {"switches": switches}}]
    for group in groups:
        inside_fabric = [place for place in places if len(groups) == 1 or place.fabric == group.name]
        blocks = _blocks(inside_fabric, [group])
        block = {
            "block_sizes": _block_sizes(blocks),
            "blocks": [{"block": name, "nodes": _hosts(servers)} for name, servers in blocks.items()],
        }
        name = "block" if len(groups) == 1 else f"block-{group.name}"
        content.append({"topology": name, "cluster_default": False, "block": block})
    inside = "NVLink domains" if any(place.domain for place in places) else "stripes"
    head = _head(
        network,
        "For Slurm 25.05 or later, which then reads neither topology.conf nor TopologyPlugin=.",
        f"tree: stripes (servers that share leaves) and wider groups. block: {inside}.",
        f"A partition uses a block topology with Topology={content[1]['topology']}.",
    )
    return head + yaml.safe_dump(content, sort_keys=False, width=1000)


def _topology_conf(network: Network, groups: Sequence[Group]) -> str:
    lines = [
        f"SwitchName={group.name} Switches={_hosts(inner.name for inner in group.groups)}"
        if group.groups
        else f"SwitchName={group.name} Nodes={_hosts(group.servers)}"
        for group in walk(groups)
    ]
    head = _head(network, "For Slurm before 25.05, with TopologyPlugin=topology/tree in slurm.conf.")
    return head + "\n".join(lines) + "\n"


def _blocks(places: Sequence[Placement], groups: Sequence[Group]) -> dict[str, list[str]]:
    """Return the servers of each block, by name: of each NVLink domain, or of each stripe if NVLink ends at all servers."""
    stripes = {group.name: list(group.servers) for group in walk(groups) if group.servers}
    if not any(place.domain for place in places):
        return stripes
    blocks: dict[str, list[str]] = {}
    for place in places:
        blocks.setdefault(place.domain or place.server, []).append(place.server)
    return blocks


def _block_sizes(blocks: dict[str, list[str]]) -> list[int]:
    """Return the sizes of blocks: that of the smallest block, and this size doubled as long as it fits all servers (topology.yaml(5))."""
    total = sum(map(len, blocks.values()))
    sizes = [min(map(len, blocks.values()), default=1)]
    while sizes[-1] * 2 <= total:
        sizes.append(sizes[-1] * 2)
    return sizes


def _by_kind(places: Sequence[Placement]) -> dict[tuple[str, int], list[Placement]]:
    """Return the servers by (GPU type in the form of Slurm's NVML plug-in, GPUs per server)."""
    kinds: dict[tuple[str, int], list[Placement]] = {}
    for place in places:
        kinds.setdefault((re.sub(r"[^a-z0-9_.-]+", "_", place.gpu.lower()) or "gpu", place.gpus), []).append(place)
    return kinds


def _nodes(network: Network, places: Sequence[Placement], groups: Sequence[Group]) -> str:
    stripes = {server: group.name for group in walk(groups) for server in group.servers}
    lines: list[str] = []
    for (kind, gpus), members in _by_kind(places).items():
        by_features: dict[tuple[str, str], list[str]] = {}
        for place in members:
            features = ",".join(filter(None, (place.pod, stripes[place.server], place.domain)))
            by_features.setdefault((features, place.status), []).append(place.server)
        for (features, status), servers in by_features.items():
            state = f'DRAIN Reason="railweave: {status} in the fabric file"' if status else "UNKNOWN"
            lines.append(f"NodeName={_hosts(servers)} Gres=gpu:{kind}:{gpus} Feature={features} State={state}")
    head = _head(
        network,
        "The design does not have the processors and memory of servers. Before the line that includes this file, write",
        "NodeName=DEFAULT with the values that `slurmd -C` prints on a server; otherwise Slurm gives each node one CPU.",
        f"--constraint={next(iter(stripes.values()))} keeps a job in one stripe.",
    )
    return head + "\n".join(lines) + "\n"


def _gres(network: Network, places: Sequence[Placement]) -> str:
    """Return gres.conf. Slurm's plug-in for the vendor's library finds the device files and the CPU cores close to each GPU."""
    by_vendor: dict[str, list[str]] = {}
    for place in places:
        by_vendor.setdefault(place.vendor, []).append(place.server)
    detect = {"NVIDIA": "nvml", "AMD": "rsmi"}
    lines = [
        f"NodeName={_hosts(servers)} Name=gpu AutoDetect={detect[vendor]}"
        for vendor, servers in by_vendor.items()
        if vendor in detect
    ]
    head = _head(network, "nvml and rsmi need a slurmd that was built with NVIDIA's NVML or AMD's ROCm SMI library.")
    return head + "\n".join(lines) + "\n"


def _include(network: Network) -> str:
    head = _head(
        network,
        f"In slurm.conf: include {FOLDER}/railweave.conf, after NodeName=DEFAULT (see nodes.conf).",
        "Install the scripts below with mode 755 and owner root.",
    )
    return head + (
        "SelectType=select/cons_tres\n"
        "GresTypes=gpu\n"
        f"include {FOLDER}/nodes.conf\n"
        f"Prolog={FOLDER}/railweave-prolog.sh\n"
        f"TaskProlog={FOLDER}/railweave-task-prolog.sh\n"
        "PrologFlags=Alloc\n"
        f"HealthCheckProgram={FOLDER}/railweave-health.sh\n"
        "HealthCheckInterval=300\n"
        "# Only idle nodes: the checks use RDMA devices and processors.\n"
        "HealthCheckNodeState=IDLE,CYCLE\n"
    )


_DRAIN = """\
# Drains this node with the failed checks as the reason, such as "railweave: nic-up gpu0_eth: ...". A node that is drained already
# keeps its reason.
node=${SLURMD_NODENAME:-$(hostname -s)}
drain() {
    case $(scontrol show node "$node" | sed -n 's/.*State=\\([^ ]*\\).*/\\1/p') in
    *DRAIN*) ;;
    *) scontrol update nodename="$node" state=drain reason="$1" ;;
    esac
}
"""
_HEALTH = f"""\
#!/bin/sh
# HealthCheckProgram of Slurm, written by `railweave export slurm`: drains a node whose server differs from its design.
# A check that could not read its values does not drain a node; the line goes to slurmd's log.
{_DRAIN}
why=$({HOST} check --slurm)
status=$?
if [ $status -eq 1 ] && [ -n "$why" ]; then
    drain "$why"
elif [ $status -gt 1 ]; then
    echo "railweave-host check: exit status $status: this server was not checked" >&2
fi
exit 0
"""
_PROLOG = f"""\
#!/bin/sh
# Prolog of Slurm, written by `railweave export slurm`: a job does not start on a server that differs from its design.
# Slurm then drains the node and queues the job again. A check that could not read its values stops no job.
{_DRAIN}
why=$({HOST} check --slurm)
if [ $? -eq 1 ] && [ -n "$why" ]; then
    drain "$why"
    exit 1
fi
exit 0
"""
_TASK_PROLOG = f"""\
#!/bin/sh
# TaskProlog of Slurm, written by `railweave export slurm`: gives each task the variables of the server's nccl.env.
# Slurm takes the values literally, so they are expanded here. Variables that the job has set keep their values.
lines=$({HOST} env --shell) || {{
    echo "print railweave: \\`railweave-host env\\` failed on $(hostname -s): NCCL starts with its own defaults"
    exit 0
}}
eval "$lines"
for name in $(printf '%s\\n' "$lines" | sed -n 's/^export \\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do
    eval "printf 'export %s=%s\\n' \\"\\$name\\" \\"\\$$name\\""
done
"""


def _batches(network: Network, places: Sequence[Placement], groups: Sequence[Group]) -> dict[str, str]:
    """Return a batch script for each kind of server, by file name."""
    kinds = _by_kind(places)
    stripes = [set(group.servers) for group in walk(groups) if group.servers]
    scripts: dict[str, str] = {}
    for (kind, gpus), members in kinds.items():
        names = {place.server for place in members}
        program = "rccl-tests" if any(place.vendor == "AMD" for place in members) else "nccl-tests"
        file = f"{program}.sbatch" if len(kinds) == 1 else f"{program}-{kind}-{gpus}.sbatch"
        most = max(len(stripe & names) for stripe in stripes)
        scripts[file] = (
            "#!/bin/bash\n"
            f"# All-reduce of {program}, written by `railweave export slurm` for {network.name}.\n"
            f"# sbatch --nodes={most} {file}       a stripe has at most {most} of these servers; with more, --switches waits 10 minutes and gives up\n"
            "#SBATCH --job-name=all-reduce\n"
            f"#SBATCH --ntasks-per-node={gpus}\n"
            f"#SBATCH --gres=gpu:{kind}:{gpus}\n"
            "#SBATCH --exclusive\n"
            "#SBATCH --switches=1@10:00\n"
            "#SBATCH --distribution=block:block\n"
            "#SBATCH --output=all-reduce-%j.txt\n"
            "# The environment of NCCL comes from railweave-task-prolog.sh. `railweave bench import` reads the output.\n"
            f'srun --mpi=pmix "${{NCCL_TESTS:-/opt/{program}}}"/build/all_reduce_perf -b 8 -e 8G -f 2 -g 1\n'
        )
    return scripts
