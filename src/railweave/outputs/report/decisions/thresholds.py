"""At how many bytes a queue is marked and a sender paused, as far as it is documented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.shares import alpha
from railweave.outputs.report.figures import switches_of

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.intent.buffers import Buffers
    from railweave.model.intent.traffic_class import Ecn, TrafficClass
    from railweave.model.network.fabric import Fabric, RoleName
    from railweave.model.network.model import Network


def threshold_facts(network: Network, fabric: Fabric, role: RoleName) -> list[tuple[str, str]]:
    """When RDMA data on a role's first switch is marked by ECN, and when it pauses senders by PFC."""
    switch = next(iter(switches_of(network, fabric, role)), None)
    model = catalog().switches.get(switch.model) if switch else None
    if switch is None or model is None:
        return []
    qos = fabric.intent(switch).qos
    data = qos.rdma_class()
    if data is None or catalog().systems[switch.nos].queues == 0 or "shared-buffer" in model.platform.lacks:
        return []
    facts: list[tuple[str, str]] = []
    if data.ecn:
        speed = max((one.speed_gbps for one in network.cables_of(switch.name)), default=0)
        facts.append(("ECN marks", _marking(data, data.ecn, qos.buffers, model, switch.nos, speed)))
    if data.lossless:
        facts.append(("PFC pauses", _pausing(qos.buffers, model, len(network.cables_of(switch.name)))))
    return facts


def _marking(data: TrafficClass, ecn: Ecn, buffers: Buffers, model: SwitchModel, nos: str, speed_gbps: int) -> str:
    pool, percent = ("lossless", buffers.egress_lossless) if data.lossless else ("lossy", buffers.egress_lossy)
    system = catalog().systems[nos]
    if system.marking is not None:
        if ecn.min_bytes is None or ecn.max_bytes is None:
            return f"from the system's default queue length on, up to {ecn.max_probability} %"
        return (
            f"from {ecn.min_bytes / 1e6:g} MB in the queue to {ecn.max_bytes / 1e6:g} MB, up to {ecn.max_probability} %"
        )
    ports = max(1, sum(group.count * max(1, group.speed_gbps // max(1, speed_gbps)) for group in model.ports))
    whole = model.buffer.shared_mb * percent / 100 / ports
    return (
        f"from {ecn.min_fill} % fill of the queue, all from {ecn.max_fill} % on. "
        f"{system.notes.ecn_fill or 'What the whole is, is not documented'}; "
        f"predictions take a port's equal part of the egress {pool} pool, {whole:.2f} MB, so "
        f"{whole * ecn.min_fill / 100:.2f} to {whole * ecn.max_fill / 100:.2f} MB (assumed)"
    )


def _pausing(buffers: Buffers, model: SwitchModel, ports: int) -> str:
    """XOFF by the dynamic threshold: alpha times what is free, so with n alike alpha / (1 + n alpha) of the pool each."""
    pool = model.buffer.shared_mb * buffers.lossless / 100
    share = alpha(buffers.ingress_dynamic_threshold)
    one, every = (pool * share / (1 + count * share) for count in (1, ports))
    return (
        f"XOFF when a port's lossless packets hold alpha {share:g} x what is free of the ingress lossless pool "
        f"({pool:.1f} MB): {one:.1f} MB where one port is congested, {every:.2f} MB each where all {ports} are"
    )
