"""ECN marking on systems that count bytes: fill levels of the fabric file as queue lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.shares import port_share_bytes, ports_at
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.model.intent.qos import Qos
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import Role

ECN_BYTES = Rule(
    id="ecn-bytes",
    severity="info",
    applies="design",
    says="ECN fill levels of the fabric file are queue lengths in bytes on a system that counts these",
    why="what fill levels are percent of is no vendor's word: here, as in predictions, a port's equal part of the egress pool",
    fix="give `min_bytes` and `max_bytes` to choose the lengths yourself",
)
STEP = 1000
"""Thresholds are whole kilobytes, the unit of EOS and of Enterprise SONiC."""


def with_lengths(context: Context, qos: Qos, role: Role, speed_gbps: int, at: Location) -> Qos:
    """A role's QoS with queue lengths for the fill levels that were given, where its system counts bytes; a finding says them.

    ``at`` is where the QoS is given. Where no fill level is, the system's own lengths stay, with the probability that is given.
    """
    system, model = context.catalog.systems[role.nos], context.catalog.switches[role.device]
    if system.marking is None:
        return qos
    classes = dict(qos.classes)
    for name, one in qos.classes.items():
        ecn = one.ecn
        if ecn is None or ecn.min_bytes is not None or not ecn.model_fields_set:
            continue
        lengths = {"min_bytes": system.marking.min_bytes, "max_bytes": system.marking.max_bytes}
        if not ecn.model_fields_set.isdisjoint({"min_fill", "max_fill"}):
            by_others = (
                qos.buffers.egress == "system" and not system.parts_egress
            )  # another system's shares: as if not said
            buffers = type(qos.buffers)() if by_others else qos.buffers
            percent = buffers.egress_lossless if one.lossless else buffers.egress_lossy
            whole = port_share_bytes(model, percent, speed_gbps)
            first = max(STEP, whole * ecn.min_fill // 100 // STEP * STEP)  # from 0 on every packet would be marked
            last = max(first + STEP, whole * ecn.max_fill // 100 // STEP * STEP)
            lengths = {"min_bytes": first, "max_bytes": last}
            pool = "lossless" if one.lossless else "lossy"
            what = (
                f"class {name}: `min_fill` {ecn.min_fill} % and `max_fill` {ecn.max_fill} % are {first // STEP} and "
                f"{last // STEP} kB on {system.description}: shares of {whole // STEP} kB, which is `egress_{pool}` of "
                f"the {model.buffer.shared_mb:g} MB of {role.device} over {ports_at(model, speed_gbps)} ports"
            )
            context.finding(ECN_BYTES, str(at[1]), (*at, "classes", name, "ecn"), what)
        classes[name] = one.model_copy(update={"ecn": ecn.model_copy(update=lengths)})
    return qos.model_copy(update={"classes": classes})
