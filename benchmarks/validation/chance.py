"""The fluid model with chance left in: the same queue, but every mark, notification, cut and timer is an event.

It shares nothing with the engine, and has no packets. Where it and the engine agree and the fluid model does not, the
difference is that of averages and single events.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .fluid import Parameters


@dataclass
class Flow:
    """A sender, and its receiver's spacing of notifications."""

    current: float  # packets/s, as is target
    target: float
    alpha: float = 1.0
    cut: float = -1.0  # when it was last cut, s; below 0: never
    quiet_until: float = 0.0  # the receiver does not notify before, s
    timer_stage: int = 0
    byte_stage: int = 0
    packets: float = 0.0
    next_increase: float = 0.0
    next_alpha: float = 0.0
    coming: deque[float] = field(default_factory=deque)  # notifications under way

    def notified(self, model: Parameters, now: float) -> None:
        """Cut the rate (the paper's equation 1)."""
        self.target = self.current
        self.current = max(self.current * (1 - self.alpha / 2), model.packets(model.minimum))
        self.alpha = (1 - model.g) * self.alpha + model.g
        self.cut = now
        self.timer_stage = self.byte_stage = 0
        self.packets = 0.0
        self.next_increase, self.next_alpha = now + model.increase_timer, now + model.alpha_timer

    def pass_time(self, model: Parameters, now: float, step: float) -> None:
        """Let the timers and the byte counter run."""
        if self.cut < 0:
            return
        if now >= self.next_alpha:
            self.alpha *= 1 - model.g
            self.next_alpha += model.alpha_timer
        if now >= self.next_increase:
            self.next_increase += model.increase_timer
            self.timer_stage += 1
            self.increase(model)
        self.packets += self.current * step
        if self.packets * model.frame >= model.byte_counter:
            self.packets -= model.byte_counter / model.frame
            self.byte_stage += 1
            self.increase(model)

    def increase(self, model: Parameters) -> None:
        """Fast recovery, then additive increase."""
        if max(self.timer_stage, self.byte_stage) > model.threshold:
            self.target = min(self.target + model.packets(model.additive), model.capacity)
        self.current = (self.current + self.target) / 2


def mean_queue(model: Parameters, flows: int, until: float, seed: int, step: float = 1e-6) -> float:
    """Bytes the queue holds on average in the second half of ``until`` s, of flows that begin together."""
    draw = random.Random(seed).random  # noqa: S311 -- a model, no secret
    line = model.capacity
    all_flows = [Flow(line, line) for _ in range(flows)]
    queue = held = 0.0
    steps = round(until / step)
    for number in range(steps):
        now = number * step
        p = model.marking(queue)
        wait = queue / line
        sent = 0.0
        for flow in all_flows:
            sent += flow.current
            # a mark is made now, reaches the receiver behind the queue, and the sender after the way back
            arrives = now + wait + model.round_trip / 2
            if p > 0 and arrives >= flow.quiet_until and draw() < p * flow.current * step:
                flow.quiet_until = arrives + model.tau
                flow.coming.append(arrives + model.round_trip / 2)
            if flow.coming and flow.coming[0] <= now:
                flow.notified(model, flow.coming.popleft())
            flow.pass_time(model, now, step)
        queue = max(queue + (sent - line) * step, 0.0)
        if number >= steps // 2:
            held += queue
    return held / (steps - steps // 2) * model.frame
