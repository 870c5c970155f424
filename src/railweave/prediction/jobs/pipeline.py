"""The order in which a pipeline stage takes its micro-batches.

One forward, one backward (PipeDream-flush, SC21 section 2.2.1), and with several parts of the model on a stage interleaved (section 2.2.2). A
turn is a micro-batch and a part; forward and backward of all turns each have one order, and the schedule says when a stage changes
from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """A micro-batch going forward or backward through one part of the model that a stage holds."""

    forward: bool
    microbatch: int
    part: int


def turns(stage: int, stages: int, microbatches: int, parts: int) -> list[Turn]:
    """What a stage does, in order. With several parts, micro-batches must be a multiple of the stages (Megatron-LM)."""
    total = microbatches * parts
    if parts == 1:
        ahead = min(stages - stage - 1, total)
    else:
        ahead = min((stages - stage - 1) * 2 + (parts - 1) * stages, total)
        ahead = total if microbatches == stages else ahead
    forward = [Turn(True, *_place(number, stages, parts, forward=True)) for number in range(total)]
    backward = [Turn(False, *_place(number, stages, parts, forward=False)) for number in range(total)]
    found = forward[:ahead]
    for one, back in zip(forward[ahead:], backward, strict=False):
        found += [one, back]
    return found + backward[total - ahead :]


def _place(number: int, stages: int, parts: int, *, forward: bool) -> tuple[int, int]:
    """Micro-batch and part of a turn: ``stages`` micro-batches through a part, then through the next (Megatron-LM, ``schedules.py``)."""
    if parts == 1:
        return number, 0
    round_, place = divmod(number, stages * parts)
    part, microbatch = divmod(place, stages)
    return round_ * stages + microbatch, part if forward else parts - 1 - part
