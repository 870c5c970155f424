"""DCQCN's fluid model (Zhu et al., SIGCOMM 2015, section 5): one queue, N flows, delay differential equations.

Marks reach a flow as a Poisson process of rate ``-ln(1-p) R_C``. What follows from them depends on the receiver:

``window``  as published: after a notification, one more at the end of every ``tau`` in which a mark came.
``spaced``  as the engine does it (and NICs, whose knob is a least time between notifications): the first mark after
            ``tau`` brings the next, and marks within ``tau`` of the last notification are forgotten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Receiver = Literal["window", "spaced"]


@dataclass(frozen=True)
class Parameters:
    """Those of the paper's sections 5 and 6. Sizes in bytes, times in seconds, rates in bit/s on the wire."""

    line: float = 40e9
    k_min: float = 5e3
    k_max: float = 200e3
    p_max: float = 0.01
    g: float = 1 / 256
    tau: float = 50e-6  # least time between notifications
    alpha_timer: float = 55e-6
    increase_timer: float = 55e-6
    byte_counter: float = 10e6
    threshold: int = 5
    additive: float = 40e6
    minimum: float = 1e6
    frame: int = 1024 + 62  # what a packet takes in a queue
    gap: int = 20  # and besides on the wire
    round_trip: float = 4e-6  # from a mark to its effect, without the wait in the queue

    @property
    def capacity(self) -> float:
        """The line, packets/s."""
        return self.packets(self.line)

    def packets(self, rate: float) -> float:
        """Bit/s as packets/s."""
        return rate / 8 / (self.frame + self.gap)

    def bits(self, rate: float) -> float:
        """Packets/s as bit/s."""
        return rate * 8 * (self.frame + self.gap)

    def marking(self, queue: float) -> float:
        """Chance that a packet is marked which meets so many packets (equation 5)."""
        held = queue * self.frame
        if held > self.k_max:
            return 1.0
        return max(held - self.k_min, 0.0) / (self.k_max - self.k_min) * self.p_max


@dataclass(frozen=True)
class Events:
    """How often things happen to a flow, per second."""

    cuts: float
    alpha_up: float
    alpha_down: float
    increases: float  # of timer and byte counter
    additive: float  # those of them that come after fast recovery


def events(model: Parameters, receiver: Receiver, p: float, rate: float) -> Events:
    """Cuts and increases of a flow whose packets are marked with chance ``p`` at ``rate`` packets/s."""
    hazard = max(-math.log1p(-min(p, 1 - 1e-9)) * rate, 1e-6)  # (1-p)^(t R) = exp(-hazard t)
    timers = (model.increase_timer, model.byte_counter / model.frame / max(rate, 1.0))
    if receiver == "window":
        cuts = -math.expm1(-hazard * model.tau) / model.tau
        up = -math.expm1(-hazard * model.alpha_timer) / model.alpha_timer
        down = 1 / model.alpha_timer - up
        marks, deaf = hazard, 0.0
    else:
        deaf = model.tau
        cuts = up = marks = 1 / (deaf + 1 / hazard)
        down = marks * expiries(hazard, model.alpha_timer, deaf, 0)
    increases, additive = (
        marks * sum(expiries(hazard, every, deaf, after) for every in timers) for after in (0, model.threshold)
    )
    return Events(cuts, up, down, increases, additive)


def expiries(hazard: float, every: float, deaf: float, after: int) -> float:
    """How often a timer of ``every`` seconds runs out between two notifications, the first ``after`` times left out.

    Notifications are ``deaf`` and then an exponential time of rate ``hazard`` apart; ``every`` is not below ``deaf``.
    """
    first = min(hazard * ((after + 1) * every - deaf), 700.0)
    return math.exp(-max(first, 0.0)) / -math.expm1(-hazard * every)


@dataclass
class Group:
    """Flows that begin together, each at line rate, and so stay the same."""

    flows: int
    start: float  # s
    current: float = 0.0  # packets/s, as is target
    target: float = 0.0
    alpha: float = 1.0
    limited: bool = False  # whether a mark ever took effect: alpha rests before that


@dataclass
class Course:
    """What a model run gave: a number a sample."""

    time: list[float]  # s
    queue: list[float]  # bytes
    rates: list[list[float]]  # bit/s of a flow of each group


def integrate(
    model: Parameters, groups: list[tuple[int, float]], until: float, receiver: Receiver, *, step: float = 1e-6
) -> Course:
    """Integrate groups (flows, start in s) until ``until`` (s) by Euler's rule; twenty steps a sample.

    A mark takes effect after ``round_trip`` and the wait in the queue that its packet met.
    """
    line = model.capacity
    alive = [Group(flows, start) for flows, start in groups]
    queue = 0.0
    past_queue: list[float] = []
    past: list[list[float]] = []
    seen = 0  # the step whose marks take effect now
    for number in range(round(until / step)):
        now = number * step
        for group in alive:
            if group.current == 0.0 and now >= group.start:
                group.current = group.target = line
        past_queue.append(queue)
        past.append([group.current for group in alive])
        while seen < number and (seen + 1) * step + model.round_trip + past_queue[seen + 1] / line <= now:
            seen += 1
        p = model.marking(past_queue[seen])
        for place, group in enumerate(alive):
            group.limited |= p > 0 and past[seen][place] > 0
            if group.limited:
                advance(model, group, events(model, receiver, p, past[seen][place]), step)
        sent = sum(group.flows * rate for group, rate in zip(alive, past[number], strict=True))
        queue = max(queue + (sent - line) * step, 0.0)
    kept = range(0, len(past), 20)
    rates = [[model.bits(past[number][place]) for number in kept] for place in range(len(alive))]
    return Course([number * step for number in kept], [past_queue[number] * model.frame for number in kept], rates)


def advance(model: Parameters, group: Group, rates: Events, step: float) -> None:
    """A step of the equations for alpha, target and current rate (7 to 9)."""
    alpha, target, current, line = group.alpha, group.target, group.current, model.capacity
    group.alpha += model.g * (rates.alpha_up * (1 - alpha) - rates.alpha_down * alpha) * step
    gain = model.packets(model.additive) * rates.additive
    group.target = min(target + ((current - target) * rates.cuts + gain) * step, line)
    rise = (target - current) / 2 * rates.increases
    change = rise - current * alpha / 2 * rates.cuts
    group.current = min(max(current + change * step, model.packets(model.minimum)), line)


def steady_queue(model: Parameters, flows: int, receiver: Receiver) -> float:
    """Bytes the queue holds at the fixed point, where every flow has its share.

    nan where the chance of a mark that this takes is above ``p_max``: the queue then swings about ``k_max``.
    """
    share = model.capacity / flows

    def growth(p: float) -> float:
        rates = events(model, receiver, p, share)
        alpha = rates.alpha_up / (rates.alpha_up + rates.alpha_down)
        apart = model.packets(model.additive) * rates.additive / rates.cuts  # target less current, where it rests
        return apart / 2 * rates.increases - share * alpha / 2 * rates.cuts

    low, high = 1e-9, model.p_max
    if growth(high) > 0:
        return math.nan
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if growth(middle) > 0 else (low, middle)
    return model.k_min + low / model.p_max * (model.k_max - model.k_min)


def jain(rates: list[float]) -> float:
    """Jain's index of fairness: 1 where all are equal, 1/n where one has everything."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))
