"""A Kubeflow MPIJob of nccl-tests or rccl-tests for each kind of server, with the NCCL environment of the design.

Sources: Kubeflow MPI Operator 0.8, API kubeflow.org/v2beta1; Kubernetes, "Define Environment Variables for a Container".
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.operations.exports.contracts import NameRule, check_names
from railweave.operations.exports.manifests import (
    FABRIC,
    HOSTNAME,
    SERVER,
    TENANT,
    Document,
    document,
    object_name,
    text_of,
)
from railweave.operations.exports.pod_networks import NETWORKS, Rail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.device.host_model import HostConfig, Variable
    from railweave.operations.exports.placement import Placement

IMAGE = {"NCCL": "NCCL-TESTS-IMAGE", "RCCL": "RCCL-TESTS-IMAGE"}
"""Placeholders for the container image, which the design does not have. Registries refuse upper case, so a forgotten one fails."""
GPU_RESOURCE = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu"}
SSH_PORT = 2222
"""The port of sshd in workers on the network of the node, where the node's own sshd has port 22."""
LIBRARY_PATH = "LD_LIBRARY_PATH"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a folder of the container
RAILWEAVE_FOLDER = "/etc/railweave"
SOCKETS = ("NCCL_SOCKET_FAMILY", "NCCL_SOCKET_IFNAME")
"""Variables for the bootstrap connections. In pods these use the pod's first interface, which the design does not have."""


@dataclass(slots=True)
class _Kind:
    """Servers that run the same job: of one model, fabric and tenant, with the same variables."""

    fabric: str
    model: str
    tenant: str
    config: HostConfig
    nodes: list[str] = field(default_factory=list[str])

    @property
    def selector(self) -> dict[str, str]:
        """The labels of the nodes. Other nodes may have the same labels."""
        tenant = {TENANT: self.tenant} if self.tenant else {}
        return {FABRIC: self.fabric, SERVER: self.model} | tenant


JOB = NameRule(
    "an MPIJob",
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    "lower-case letters, digits and hyphens, with a letter or digit at both ends",
    54,
    "kubeflow/mpi-operator, validation: NAME-worker-1 is a DNS label",
)


def text(
    network: str,
    places: Sequence[Placement],
    nodes: Mapping[str, str],
    configs: Mapping[str, HostConfig],
    labels: Mapping[str, Mapping[str, str]],
    rails: Sequence[Rail],
) -> str:
    """Return the text of the jobs file. ``nodes``, ``configs`` and ``labels`` are by server; ``rails`` are the secondary networks."""
    head = [
        f"All-reduce of nccl-tests on the servers of {network}; written by `railweave export kubernetes`.",
        "Replace NCCL-TESTS-IMAGE or RCCL-TESTS-IMAGE by an image with Open MPI, sshd and the tests. Label the nodes first",
        "(`railweave export kueue`). The library takes the GID by address (NCCL_IB_ADDR_RANGE), because its index",
        "differs between pods.",
    ]
    kinds: dict[tuple[str, str, str, tuple[Variable, ...]], _Kind] = {}
    shared: list[str] = []
    for place in places:
        config, tenant = configs[place.server], labels[place.server].get(TENANT, "")
        if not config.job:
            shared.append(nodes[place.server])
            continue
        kind = kinds.setdefault(
            (place.fabric, config.model, tenant, config.job), _Kind(place.fabric, config.model, tenant, config)
        )
        kind.nodes.append(nodes[place.server])
    if shared:
        head += [
            f"No job for {', '.join(shared)}: the GPUs of a server belong to several tenants or have no",
            "addresses, and a device plugin does not let a pod choose the GPUs beside its tenant's NICs.",
        ]
    documents: list[Document] = []
    names: dict[str, int] = {}
    for kind in kinds.values():
        base = object_name(
            "nccl-tests" if kind.config.library == "NCCL" else "rccl-tests", kind.fabric, kind.model, kind.tenant
        )
        names[base] = names.get(base, 0) + 1
        matching = [nodes[server] for server, values in labels.items() if kind.selector.items() <= dict(values).items()]
        name = (base if names[base] == 1 else f"{base}-{names[base]}").replace(".", "-")
        spec = _spec(kind, _networks(kind, rails), alone=matching == kind.nodes)
        documents.append(document("kubeflow.org/v2beta1", "MPIJob", name, spec))
    check_names(JOB, (job["metadata"]["name"] for job in documents))
    return text_of(head, documents)


def _networks(kind: _Kind, rails: Sequence[Rail]) -> list[Rail]:
    """Return the secondary networks of a kind of server, or none if a rail has no secondary network."""
    mine = [rail for rail in rails if rail.fabric == kind.fabric and kind.nodes[0] in rail.nics]
    return [] if any(rail.obstacle() for rail in mine) else mine


def _spec(kind: _Kind, networks: Sequence[Rail], *, alone: bool) -> Document:
    """Return the specification of a job. ``alone`` is True if no other nodes have the labels of this kind."""
    config = kind.config
    environment = {
        variable.name: variable.value
        for variable in config.job
        if not variable.resolve and variable.name != LIBRARY_PATH and not (networks and variable.name in SOCKETS)
    }
    if networks:
        environment["NCCL_SOCKET_IFNAME"] = "eth0"
    workers = min(len(kind.nodes), 2)
    return {
        "slotsPerWorker": config.gpus,
        "runPolicy": {"cleanPodPolicy": "Running"},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": {"spec": _launcher(config, environment, host=not networks)}},
            "Worker": {"replicas": workers, "template": _worker(kind, networks, alone=alone)},
        },
    }


def _launcher(config: HostConfig, environment: Mapping[str, str], *, host: bool) -> Document:
    words = ["mpirun", "--allow-run-as-root", "-N", str(config.gpus), "--bind-to", "none"]
    if host:
        words += ["--mca", "plm_rsh_args", f"-p {SSH_PORT}"]
    folders = [
        folder
        for variable in config.job
        if variable.name == LIBRARY_PATH
        for folder in variable.value.split(":")
        if not folder.startswith("$")
    ]
    for name in (*environment, *([LIBRARY_PATH] if folders else [])):
        words += ["-x", name]
    words += ["all_reduce_perf", "-b", "8", "-e", "8G", "-f", "2", "-g", "1"]
    path = f'export {LIBRARY_PATH}="{":".join(folders)}:${{{LIBRARY_PATH}:-}}"; ' if folders else ""
    return {
        "containers": [
            {
                "name": "launcher",
                "image": IMAGE[config.library],
                "command": ["/bin/sh", "-c"],
                "args": [f"{path}exec {shlex.join(words)}"],
                # Kubernetes expands $(NAME) in values; $$ stands for a dollar sign.
                "env": [{"name": name, "value": value.replace("$", "$$")} for name, value in environment.items()],
            }
        ]
    }


def _worker(kind: _Kind, networks: Sequence[Rail], *, alone: bool) -> Document:
    config = kind.config
    devices: Document = {GPU_RESOURCE[config.gpu_vendor or "NVIDIA"]: config.gpus}
    devices |= {rail.resource: 1 for rail in networks}
    container: Document = {
        "name": "worker",
        "image": IMAGE[config.library],
        "resources": {"limits": devices, "requests": dict(devices)},
        "volumeMounts": [{"name": "shm", "mountPath": SHARED_MEMORY}],
    }
    pod: Document = {
        "nodeSelector": kind.selector,
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    if not alone:
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": kind.nodes}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        pod["affinity"] = {"nodeAffinity": required}
    if networks:
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
        return {
            "metadata": {"annotations": {NETWORKS: ",".join(rail.name for rail in networks)}},
            "spec": pod,
        }
    # RDMA devices of the node are files that only privileged containers may open without a device plugin.
    container["securityContext"] = {"privileged": True}
    container["command"] = ["/usr/sbin/sshd", "-De", "-p", str(SSH_PORT)]
    if any(variable.value.startswith(RAILWEAVE_FOLDER) for variable in config.job):
        container["volumeMounts"].append({"name": "railweave", "mountPath": RAILWEAVE_FOLDER, "readOnly": True})
        pod["volumes"].append({"name": "railweave", "hostPath": {"path": RAILWEAVE_FOLDER, "type": "Directory"}})
    return {"spec": pod | {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}}
