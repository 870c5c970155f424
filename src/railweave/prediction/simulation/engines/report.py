"""The engine of a run and its packet counters, as text and as JSON (docs/predict.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.counting import counted

if TYPE_CHECKING:
    from railweave.prediction.simulation.engines.choice import Choice
    from railweave.prediction.simulation.engines.run import Steady
    from railweave.prediction.simulation.model.fabric import Arguments


def engine_text(choice: Choice, steady: Steady | None) -> str:
    """Return a text such as ``flow (about 300.0 M packet hops, above 200 M)``: the name of the engine, and the reason why it was chosen.

    If the run was stopped early, a second line has the time of the stop, the fraction of the messages that were run, and the largest error.
    ``choice`` is the choice of the engine, and ``steady`` is the state of a stopped run (None if the run was not stopped).
    """
    text = f"{choice.engine} ({choice.why})"
    if steady is not None:
        text += (
            f"\n  steady         stopped at {steady.at_ps / 1e6:.1f} us, {steady.share:.0%} of the messages run: rounds repeat; "
            f"the time is off by at most {steady.error:.2%} (--exact runs all)"
        )
    return text


def engine_json(choice: Choice, steady: Steady | None) -> dict[str, Any]:
    """Return JSON fields with the name of the engine, the reason why it was chosen, and the estimated packet hops.

    If the run was stopped early, ``steady_state`` has the time of the stop, the fraction of the messages that were run, and the largest
    error; otherwise it is null. ``choice`` is the choice of the engine, and ``steady`` the state of a stopped run.
    """
    stopped = None
    if steady is not None:
        stopped = {"stopped_at_us": steady.at_ps / 1e6, "share_run": steady.share, "error": steady.error}
    return {
        "engine": choice.engine,
        "engine_reason": choice.why,
        "estimated_packet_hops": choice.packet_hops,
        "steady_state": stopped,
    }


def lost_text(counters: dict[str, int] | None) -> str:
    """Return a line on dropped and retransmitted packets. Return "" if there were none, or if no counters exist."""
    known = counters or {}
    dropped = sum(count for name, count in known.items() if name.startswith("dropped_"))
    again, timeouts = known.get("retransmitted_packets", 0), known.get("timeouts", 0)
    if not dropped and not again and not timeouts:
        return ""
    late = f", {counted(timeouts, 'timeout')}" if timeouts else ""
    return f"  lost           {counted(dropped, 'packet')} dropped, {again:,} sent again{late}\n"


def congestion_text(counters: dict[str, int] | None) -> str:
    """Return a text with the numbers of ECN marks, pauses and retransmissions. It does not have drops, which ``lost_text`` reports.

    If ``counters`` is None, the text is ``unknown: flows have no queues``.
    """
    if counters is None:
        return "unknown: flows have no queues"
    return (
        f"{counters['ecn_marked_packets']} marked, {counters['pfc_pauses']} pauses, "
        f"{counters['retransmitted_packets']} sent again"
    )


def lossless_drops(counters: dict[str, int] | None, arguments: Arguments) -> tuple[str, ...]:
    """Return notes on dropped packets of a lossless class: one on drops at egress and one on drops at ingress, if there were any.

    ``counters`` are the packet engine's (None for flows), and ``arguments`` its arguments. Return () if RDMA data is not lossless on every
    switch, or if some ports do not send pauses, because packets that arrive on these ports may be dropped. The few drops of congestion
    notifications and of other classes are counted too.
    """
    profiles, data = arguments["profiles"], f"class.{arguments['parameters'].get('host.data-class', '3')}"
    if counters is None or not profiles or len(arguments["without_pfc"]):
        return ()
    if any(profile.get(f"{data}.lossless") != "yes" for profile in profiles):
        return ()
    drops: list[str] = []
    egress, ingress = counters["dropped_egress_full"], counters["dropped_ingress_full"]
    if egress:
        drops.append(
            f"{egress:,} packets of a lossless class were dropped at egress: a queue had reached its share, {data}.egress-alpha "
            f"{_values(profiles, f'{data}.egress-alpha')} x the free part of switch.egress-pool-lossless "
            f"({_values(profiles, 'switch.egress-pool-lossless')}), before ingress paused the senders"
        )
    if ingress:
        drops.append(
            f"{ingress:,} packets of a lossless class were dropped at ingress: a port had reached its share of "
            f"switch.ingress-pool-lossless ({_values(profiles, 'switch.ingress-pool-lossless')}) and its headroom was full "
            f"(switch.headroom {_values(profiles, 'switch.headroom')} a port)"
        )
    return tuple(drops)


def _values(profiles: list[dict[str, str]], name: str) -> str:
    return " or ".join(dict.fromkeys(profile.get(name, "the engine's own") for profile in profiles))


def counters_json(counters: dict[str, int] | None) -> dict[str, Any]:
    """Return the packet counters as JSON; null for each counter that is absent."""
    known = counters or {}
    drops = [value for name, value in known.items() if name.startswith("dropped_")]
    hops = known.get("packet_hops")
    pauses = known.get("pfc_pause_ps")
    return {
        "data_packet_hops": known.get("data_packet_hops"),
        "packet_hops": hops,
        "events": None if hops is None else 2 * hops,
        "delivered_packets": known.get("delivered_packets"),
        "dropped_packets": sum(drops) if known else None,
        "retransmitted_packets": known.get("retransmitted_packets"),
        "ecn_marked_packets": known.get("ecn_marked_packets"),
        "cnps": known.get("cnps"),
        "pfc_pauses": known.get("pfc_pauses"),
        "pfc_pause_us": None if pauses is None else pauses / 1e6,
        "trace_checksum": f"{known['trace_checksum']:016x}" if known else None,
    }
