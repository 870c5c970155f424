"""Leaves of the OpenConfig models that are read as series, by their path without keys (release/models of openconfig/public)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.state.telemetry import METRICS, Series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.state.telemetry import Elements

_INTERFACE = "interfaces/interface"
_COUNTERS = f"{_INTERFACE}/state/counters"
_ETHERNET = f"{_INTERFACE}/ethernet/state"
_QUEUE = "qos/interfaces/interface/output/queues/queue/state"
_BGP = "network-instances/network-instance/protocols/protocol/bgp/neighbors/neighbor"
_CHANNEL = "components/component/transceiver/physical-channels/channel/state"
LEAVES: Mapping[str, tuple[str, str, str]] = {
    f"{_INTERFACE}/state/oper-status": ("port_up", "interface", ""),
    f"{_COUNTERS}/in-octets": ("in_octets", "interface", ""),
    f"{_COUNTERS}/out-octets": ("out_octets", "interface", ""),
    f"{_COUNTERS}/in-errors": ("in_errors", "interface", ""),
    f"{_COUNTERS}/out-errors": ("out_errors", "interface", ""),
    f"{_COUNTERS}/in-discards": ("in_discards", "interface", ""),
    f"{_COUNTERS}/out-discards": ("out_discards", "interface", ""),
    f"{_COUNTERS}/in-fcs-errors": ("in_crc", "interface", ""),
    f"{_COUNTERS}/carrier-transitions": ("flaps", "interface", ""),
    f"{_ETHERNET}/fec-corrected-blocks": ("fec_corrected", "interface", ""),
    f"{_ETHERNET}/fec-uncorrectable-blocks": ("fec_uncorrected", "interface", ""),
    f"{_QUEUE}/transmit-octets": ("queue_out_octets", "interface", "queue"),
    f"{_QUEUE}/transmit-pkts": ("queue_sent", "interface", "queue"),
    f"{_QUEUE}/dropped-pkts": ("queue_dropped", "interface", "queue"),
    f"{_QUEUE}/ecn-marked-pkts": ("queue_marked", "interface", "queue"),
    f"{_QUEUE}/max-queue-len": ("queue_peak", "interface", "queue"),
    f"{_BGP}/state/session-state": ("bgp_state", "", "neighbor"),
    f"{_BGP}/state/established-transitions": ("bgp_flaps", "", "neighbor"),
    f"{_CHANNEL}/input-power/instant": ("rx_power", "component", "channel"),
    f"{_CHANNEL}/output-power/instant": ("tx_power", "component", "channel"),
    f"{_CHANNEL}/laser-bias-current/instant": ("bias", "component", "channel"),
}
"""Metric, the element whose key names the port, and the one whose key is the index."""

_NUMBERED = {"queue", "priority", "lane"}
_NUMBER = re.compile(r"(\d+)$")
_MODULE = re.compile(r"[a-z][\w.-]*:")


def schema(elements: Elements) -> tuple[str, dict[str, str]]:
    """A path without keys and without names of modules, and the first key of each of its elements."""
    names: list[str] = []
    keys: dict[str, str] = {}
    for name, values in elements:
        plain = _MODULE.sub("", name, count=1)
        names.append(plain)
        if values:
            keys[plain] = values[0][1]
    return "/".join(names), keys


def series(elements: Elements, leaves: Mapping[str, tuple[str, str, str]] = LEAVES) -> Series | None:
    """The series that a leaf is a number of; None for a leaf that is not read."""
    path, keys = schema(elements)
    found = leaves.get(path)
    if found is None:
        return None
    metric, port, index = found
    number = keys.get(index, "") if index else ""
    if METRICS[metric].index in _NUMBERED and (digits := _NUMBER.search(number)):  # `3`, `UC3`, `et-0/0/0:3`
        number = digits[1]
    return Series(metric, keys.get(port, "") if port else "", number)
