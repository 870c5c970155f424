"""The file that perftest writes with ``--out_json``: one size, without a unit, and not JSON in every version.

Version 4.5 leaves quotes off and commas at ends, ``--output=bandwidth`` and the raw QoS mode still do. So pairs of a name and a value
are read wherever they stand. The unit follows from the message rate: rate x size is the bandwidth, in 10^9 bit/s with
``--report_gbits``, else in 2^20 byte/s.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.bench.lines import Line, Notes, number
from railweave.bench.perftest import GBPS_OF_MIBPS, Perftest, row_of, verb_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PAIR = re.compile(r'"?([A-Za-z][\w.]*)"?\s*:\s*("[^"]*"|[^\s,{}"]+)')
_KEYS = {
    "MsgSize": "size_bytes",
    "n_iterations": "iterations",
    "sl": "service_level",
    "BW_peak": "bandwidth_peak_gbps",
    "BW_average": "bandwidth_gbps",
    "bw_avg": "bandwidth_gbps",
    "MsgRate": "message_rate_mpps",
    "msgRate_avg": "message_rate_mpps",
    "t_min": "latency_min_us",
    "t_max": "latency_max_us",
    "t_typical": "latency_typical_us",
    "t_avg": "latency_avg_us",
    "avg_lat": "latency_avg_us",
    "percentile_99": "latency_p99_us",
    "percentile_99.9": "latency_p999_us",
    "tps_average": "transactions_per_s",
    "CPU_util": "cpu_percent",
}
_UNREAD = {"t_stdev", "stdev", "test_info", "results"}
"""The deviation is worked out from whole microseconds (``print_report_lat``): it is often 0, and wrong."""


def read_perftest_json(lines: Sequence[Line], notes: Notes, *, gbits: bool | None = None) -> list[Perftest]:
    """The test of such a file, or of several one after another. Never raises.

    ``gbits``: whether the test ran with ``--report_gbits``; where it is None the message rate decides, and where there is none the
    bandwidth is left out with a note.
    """
    found: list[Perftest] = []
    pairs: list[tuple[int, str, str]] = []
    for line in lines:
        for name, text in _PAIR.findall(line.text):
            if name == "test" and any(key == "test" for _, key, _ in pairs):
                found.append(_test(pairs, notes, gbits))
                pairs = []
            pairs.append((line.number, name, text.strip('"')))
    if any(name in _KEYS for _, name, _ in pairs):
        found.append(_test(pairs, notes, gbits))
    elif lines:
        notes.add(lines[0].number, "no results of perftest")
    return [one for one in found if one.rows]


def _test(pairs: Sequence[tuple[int, str, str]], notes: Notes, gbits: bool | None) -> Perftest:
    found: dict[str, float | int | None] = {}
    settings: dict[str, str] = {}
    first = last = pairs[0][0]
    for line, name, text in pairs:
        if name in _KEYS:
            found[_KEYS[name]] = read = number(text)
            last = line
            if read is None:
                notes.add(line, f"{name} is no number", text)
        elif name not in _UNREAD:
            settings.setdefault(name, text)
    _in_gbps(found, notes, last, gbits)
    title = settings.pop("test", "")
    latency = any(key.startswith(("latency", "transactions")) for key in found)
    size = found.get("size_bytes")
    if size is None:
        notes.add(last, "a result without MsgSize")
    return Perftest(
        file=notes.file,
        line=first,
        verb=verb_of(title),
        kind="latency" if latency or title.upper().endswith("LAT") else "bandwidth",
        bidirectional="bidirectional" in title.lower(),
        memory="gpu" if _on_gpu(settings.items()) else "host",
        settings=tuple(settings.items()),
        local_gid="",
        remote_gid="",
        command="",
        rows=() if size is None or not 0 <= size < 1e18 else (row_of(last, found),),
        failures=(),
    )


def _on_gpu(settings: Iterable[tuple[str, str]]) -> bool:
    return any(
        name in {"cuda_device", "musa_device"}
        or (name.startswith("Use_") and name.endswith("_memory") and text == "ON")
        for name, text in settings
    )


def _in_gbps(found: dict[str, float | int | None], notes: Notes, line: int, gbits: bool | None) -> None:
    """Turn bandwidths into 10^9 bit/s."""
    bandwidth, size, rate = found.get("bandwidth_gbps"), found.get("size_bytes"), found.get("message_rate_mpps")
    if not bandwidth:
        return
    if gbits is None and size and size >= 1 and rate and rate >= 1e-7:
        in_gbps, in_mibps = rate * size * 8 / 1e3, rate * 1e6 * size / (1 << 20)
        gbits = abs(bandwidth / in_gbps - 1) < abs(bandwidth / in_mibps - 1)
    for key in ("bandwidth_gbps", "bandwidth_peak_gbps"):
        given = found.get(key)
        if given and gbits is None:
            notes.add(line, "a bandwidth whose unit nothing tells: say whether --report_gbits was given", str(given))
            found[key] = None
        elif given and not gbits:
            found[key] = given * GBPS_OF_MIBPS
