"""DCQCN: the engine against the fluid model of its paper."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from .engine import Run, run
from .fluid import Course, Parameters, Receiver, integrate, jain, steady_queue

RECEIVERS: tuple[Receiver, Receiver] = ("window", "spaced")


def settings(model: Parameters) -> dict[str, object]:
    """The model's parameters as the engine takes them.

    Hyper increase is made as large as the additive one, since the model has none; the receiver cuts at every notification.
    """
    return {
        "host.mtu": 1024,
        "dcqcn.g": model.g,
        "dcqcn.alpha-timer": f"{model.alpha_timer * 1e6:g}us",
        "dcqcn.cut-interval": "0us",
        "dcqcn.clamp-target": "yes",
        "dcqcn.increase-timer": f"{model.increase_timer * 1e6:g}us",
        "dcqcn.byte-counter": f"{model.byte_counter / 1e6:g}MB",
        "dcqcn.threshold": model.threshold,
        "dcqcn.additive": f"{model.additive / 1e6:g}M",
        "dcqcn.hyper": f"{model.additive / 1e6:g}M",
        "dcqcn.minimum": f"{model.minimum / 1e6:g}M",
        "dcqcn.cnp-interval": f"{model.tau * 1e6:g}us",
        "ecn": f"{model.k_min / 1e3:g}KB..{model.k_max / 1e3:g}KB@{model.p_max * 100:g}%",
    }


def engine(model: Parameters, starts_us: list[float], until_ms: int, every: str) -> Run:
    """Flows to one host over a switch, each with more to send than ``until_ms`` lets it."""
    host = len(starts_us)
    delay = f"{model.round_trip * 1e6 / 4:g}us"
    size = round(model.line / 8 * until_ms * 1e-3)
    flows = [(f"h{place}", f"h{host}", size, start) for place, start in enumerate(starts_us)]
    topology = f"star:hosts={host + 1},speed={model.line / 1e9:g}G,delay={delay}"
    return run(topology, flows, settings(model), "--until", f"{until_ms}ms", every=every)


@dataclass(frozen=True)
class Incast:
    """The queue of an incast, bytes: at the model's fixed points, and the engine's mean and deviation."""

    p_max: float
    flows: int
    fixed: dict[Receiver, float]
    mean: float
    deviation: float
    jain: float
    utilisation: float

    @property
    def ratio(self) -> float:
        """The engine's mean against the model with the same receiver."""
        return self.mean / self.fixed["spaced"]


def incast(p_max: float, flows: int, until_ms: int) -> Incast:
    """Flows that begin together; figures are of the second half of the run."""
    model = Parameters(p_max=p_max)
    ran = engine(model, [0.0] * flows, until_ms, "20us")
    port = f"{switch_of(ran)}>h{flows}"
    _, queue = ran.ports.of(port, "queued_bytes")
    half = len(queue) // 2
    rates = [statistics.fmean(later(ran, f"h{place}>h{flows}")) for place in range(flows)]
    fixed = {receiver: steady_queue(model, flows, receiver) for receiver in RECEIVERS}
    sent = sum(ran.ports.of(port, "tx_bytes")[1][half:])
    wire = sent * (1 + model.gap / model.frame) * 8 / (until_ms * 1e-3 / 2) / model.line
    return Incast(
        p_max, flows, fixed, statistics.fmean(queue[half:]), statistics.pstdev(queue[half:]), jain(rates), wire
    )


def later(ran: Run, flow: str) -> list[float]:
    """Rates of a flow in the second half."""
    _, rates = ran.flows.of(flow, "rate_gbps")
    return rates[len(rates) // 2 :]


def switch_of(ran: Run) -> str:
    """The name of a star's only switch."""
    return next(place.split(">")[0] for place in ran.ports.time_us if not place.startswith("h"))


def model_of(p_max: float, groups: list[tuple[int, float]], until_ms: int, receiver: Receiver) -> Course:
    """The model's course of the same."""
    return integrate(Parameters(p_max=p_max), groups, until_ms * 1e-3, receiver)


def known(number: float) -> bool:
    """Whether a fixed point exists."""
    return not math.isnan(number)
