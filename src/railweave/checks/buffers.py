"""Rules about packet buffers that only some switch models ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.findings.registry import Found, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.checks.subject import Subject


@check(
    "lossless-shares",
    "error",
    applies="network",
    why="one source, the DCQCN configlet of Juniper's public Apstra examples, says that the two must match on these models, and none "
    "has others: shares that differ are not known to be lossless",
    fix="set `egress_lossless` to `lossless` in `qos.buffers`",
)
def lossless_shares(subject: Subject) -> Iterator[Found]:
    """Models that ask for it (QFX5220, QFX5230) give lossless classes the same share at ingress and at egress."""
    for config in subject.configs.values():
        qos, model = config.qos, catalog().switches[config.model]
        if qos is None or not qos.shared_buffer or "equal-lossless-shares" not in model.needs:
            continue
        if qos.buffers.lossless != qos.buffers.egress_lossless:
            shares = f"{qos.buffers.lossless} % at ingress, {qos.buffers.egress_lossless} % at egress"
            yield Found(config.name, f"lossless classes of a {config.model} have {shares}")
