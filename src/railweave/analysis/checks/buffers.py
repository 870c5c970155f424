"""Rules about packet buffers: shares that some switch models require, and thresholds at which PFC pauses senders too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.shares import held_share
from railweave.model.findings.registry import FindingPlace, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.qos_model import Buffers


@check(
    "lossless-shares",
    "error",
    applies="network",
    why="the DCQCN configlet of Juniper's public Apstra examples requires equal shares on these models, and no "
    "public document shows different shares: it is unknown whether the class then stays lossless",
    fix="set `egress_lossless` to `lossless` in `qos.buffers`",
)
def lossless_shares(subject: Subject) -> Iterator[FindingPlace]:
    """On models that require it (QFX5220, QFX5230), lossless classes have the same buffer share at ingress and at egress."""
    for config in subject.configs.values():
        qos, model = config.qos, catalog().switches.get(config.model)
        if qos is None or model is None or not qos.shared_buffer or "equal-lossless-shares" not in model.needs:
            continue
        if qos.buffers.lossless != qos.buffers.egress_lossless:
            shares = f"{qos.buffers.lossless} % at ingress, {qos.buffers.egress_lossless} % at egress"
            by_system = f"set `lossless: {qos.buffers.egress_lossless}` in `qos.buffers`, or leave out `egress: system`"
            fix = by_system if qos.buffers.egress == "system" else None
            yield FindingPlace(config.name, f"lossless classes of a {config.model} have {shares}", fix=fix)


@check(
    "lossless-queue-full",
    "warning",
    applies="network",
    why="the fill level at which a queue is full and the fill level at which a port pauses its sender are "
    "separate thresholds. With many senders, each port holds so few bytes that no port pauses before the "
    "queue is full. In predictions, packets are dropped there (docs/predict.md)",
    fix="raise the class's `dynamic_threshold`, or lower `ingress_dynamic_threshold`, so that ports pause first",
)
def lossless_queue_full(subject: Subject) -> Iterator[FindingPlace]:
    """If all ports send to one lossless queue, they pause their senders before the queue is full."""
    for config in subject.configs.values():
        qos, model = config.qos, catalog().switches.get(config.model)
        if qos is None or model is None or not qos.shared_buffer:
            continue
        senders = sum(interface.pauses for interface in config.interfaces) - 1
        if senders < 1:
            continue
        for name, traffic_class in qos.classes.items():
            threshold = traffic_class.dynamic_threshold
            if threshold is None:
                threshold = catalog().systems[config.nos].lossless_queue_threshold
            if not traffic_class.lossless or threshold is None:
                continue
            held, queue = _paused_at(qos.buffers, model, senders), _queue_at(qos.buffers, model, threshold)
            if held > queue:
                yield FindingPlace(
                    config.name,
                    f"a queue of class {name} holds {queue / 1e6:.1f} MB (dynamic threshold {threshold}), and {senders} ports that send "
                    f"to it pause when they have {held / 1e6:.1f} MB together: packets are dropped before PFC",
                )


def _paused_at(buffers: Buffers, model: SwitchModel, senders: int) -> float:
    """Return the bytes of the ingress pool in use when ``senders`` ports have all reached their threshold and pause.

    ``buffers`` has the shares and thresholds that the switch is configured with.
    """
    pool = model.buffer.shared_mb * 1e6 * buffers.lossless / 100
    return pool * held_share(buffers.ingress_dynamic_threshold, senders)


def _queue_at(buffers: Buffers, model: SwitchModel, threshold: int) -> float:
    """Return the bytes that one queue occupies when it reaches its dynamic threshold (``threshold``) in the egress pool.

    ``buffers`` has the pool's share of the packet buffer.
    """
    return model.buffer.shared_mb * 1e6 * buffers.egress_lossless / 100 * held_share(threshold)
