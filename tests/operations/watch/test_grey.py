"""Grey failures: each kind is found where a port differs from its peers, and nothing is said of healthy networks or of what was not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from railweave.analysis.expect import Expected
from railweave.live.check.living import Deviation
from railweave.model.device.build import device_config
from railweave.model.device.expected import Port
from railweave.model.network.model import Network
from railweave.model.state.device_state import DeviceState
from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic, PfcCounters, PortQueues, Queue
from railweave.model.state.protocols import BgpSession
from railweave.operations.watch.anomalies import Anomalies
from railweave.operations.watch.grey.search import GreyFailures
from railweave.operations.watch.validator import NetworkSnapshot, Validator
from tests.conftest import example

SPAN = 300.0
"""The seconds between the two snapshots of most tests."""
FULL = int(400e9 / 8 * SPAN * 0.4)
"""The bytes of a port of 400G in this time at 40 % of its speed."""


@lru_cache
def validator(name: str = "h100-rlb", only: tuple[str, ...] | None = None) -> Validator:
    network = example(name)
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    return Validator(network, configs, window_s=30, devices=only)


@dataclass
class PortNumbers:
    """What a port counted since the first snapshot, and the light of its lanes."""

    in_bytes: float | None = FULL
    out_bytes: float | None = FULL
    damaged: float | None = 0
    corrected: float | None = 4000 * SPAN
    uncorrected: float | None = 0
    marked: float | None = 0
    received: float | None = 0
    sent: float | None = 0
    ber: float | None = None
    light: tuple[float, ...] = (-1.0, -1.0, -1.0, -1.0)
    alarm: float | None = None
    serial: str = "A"
    up: bool | None = True


def state(expected: Expected, numbers: Mapping[str, PortNumbers], part: float) -> DeviceState:
    """The state of a device after a part of the time."""

    def at(number: Any) -> Any:
        return number if number is None or isinstance(number, str) else number * part + 1_000_000

    interfaces, optics, pfc, queues = {}, {}, {}, {}
    for port in expected.ports:
        one = numbers[port.name]
        interfaces[port.name] = InterfaceState(
            port.name,
            oper_up=one.up,
            in_bytes=at(one.in_bytes),
            out_bytes=at(one.out_bytes),
            errors=Errors(in_crc=at(one.damaged)),
            fec=Fec(corrected=at(one.corrected), uncorrected=at(one.uncorrected), pre_fec_ber=one.ber),
        )
        lanes = tuple(Lane(number, rx_dbm=each) for number, each in enumerate(one.light, 1))
        optics[port.name] = Optic(lanes=lanes, rx_low_dbm=one.alarm, serial=one.serial)
        pfc[port.name] = {3: PfcCounters(at(one.received), at(one.sent)), 4: PfcCounters(0, 0)}
        queues[port.name] = PortQueues({3: Queue(ecn_marked=at(one.marked)), 4: Queue()}, {})
    return DeviceState(expected.device, "junos", interfaces=interfaces, optics=optics, pfc=pfc, queues=queues)


Numbers = dict[str, dict[str, PortNumbers]]


def healthy(expected: Mapping[str, Expected]) -> Numbers:
    return {name: {port.name: PortNumbers() for port in each.ports} for name, each in expected.items()}


def states(expected: Mapping[str, Expected], numbers: Numbers, part: float) -> dict[str, DeviceState]:
    return {name: state(each, numbers[name], part) for name, each in expected.items()}


def search(of: Validator | None = None) -> GreyFailures:
    of = of or validator()
    return GreyFailures(of.network, of.expected, 30)


def found(numbers: Numbers, of: Validator | None = None, grey: GreyFailures | None = None) -> list[Deviation]:
    of = of or validator()
    grey = grey or search(of)
    first = list(grey.seen(1000, states(of.expected, numbers, 0)))
    assert all(one.rule.id == "light-unusual" or "before FEC" in one.what for one in first), "rates need time"
    return list(grey.seen(1000 + SPAN, states(of.expected, numbers, 1)))


def uplink(of: Validator | None = None, leaf: str = "stripe1-leaf1") -> Port:
    return next(port for port in (of or validator()).expected[leaf].ports if port.kind == "fabric")


def set_more(one: PortNumbers, **values: Any) -> None:
    for name, value in values.items():
        setattr(one, name, value)


ONE_BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "fec-rate-unusual",
        {"corrected": 600_000 * SPAN},
        (
            "600,000 FEC-corrected codewords/s; the median of 63 other leaf-spine ports of 400G is 4,000; "
            "counted: 180,000,000 codewords in 5 min"
        ),
    ),
    (
        "fec-rate-unusual",
        {"uncorrected": 12},
        (
            "144 codewords per hour that FEC could not correct; the median of 63 other leaf-spine ports of 400G is 0; "
            "counted: 12 codewords in 5 min"
        ),
    ),
    (
        "crc-rate-unusual",
        {"damaged": 60},
        (
            "10.0 damaged frames per TB received; the median of 63 other leaf-spine ports of 400G is 0; "
            "counted: 60 frames in 5 min"
        ),
    ),
    (
        "ecn-rate-unusual",
        {"marked": 60_000_000},
        (
            "10,000 ECN-marked packets per GB sent; the median of 63 other leaf-spine ports of 400G is 0; "
            "counted: 60,000,000 packets in 5 min"
        ),
    ),
    (
        "pfc-rate-unusual",
        {"received": 60_000},
        (
            "10.0 PFC frames received per GB sent; the median of 63 other leaf-spine ports of 400G is 0; "
            "counted: 60,000 frames in 5 min"
        ),
    ),
    (
        "pfc-rate-unusual",
        {"sent": 60_000},
        (
            "10.0 PFC frames sent per GB received; the median of 63 other leaf-spine ports of 400G is 0; "
            "counted: 60,000 frames in 5 min"
        ),
    ),
    (
        "light-unusual",
        {"light": (-1.0, -7.5, -1.0, -1.0)},
        "lane 2 receives -7.5 dBm; the median of 63 other leaf-spine ports of 400G is -1.0 dBm",
    ),
    (
        "light-unusual",
        {"light": (-1.0, -9.4), "alarm": -10.0},
        "lane 2 receives -9.4 dBm; the low alarm is at -10.0 dBm",
    ),
]


@pytest.mark.parametrize(("rule", "values", "text"), ONE_BAD)
def test_one_bad_port_is_found_with_its_number_its_peers_and_its_count(
    rule: str, values: dict[str, Any], text: str
) -> None:
    numbers = healthy(validator().expected)
    port = uplink()
    set_more(numbers["stripe1-leaf1"][port.name], **values)
    grey = search()
    [one] = found(numbers, grey=grey)
    end = f"; at the other end, {port.peer} {port.peer_port}"
    assert (one.rule.id, one.where, one.what) == (rule, f"stripe1-leaf1 {port.name}", f"{port.name}: {text}{end}")
    assert grey.counts[rule].unusual == 1


def test_the_bit_error_ratio_before_fec() -> None:
    numbers = healthy(validator().expected)
    for ports in numbers.values():
        for one in ports.values():
            one.ber, one.corrected = 2e-8, None
    numbers["stripe1-leaf1"][uplink().name].ber = 3e-6
    [one] = found(numbers)
    assert (
        "3,000 bit errors per billion bits before FEC; the median of 63 other leaf-spine ports of 400G is 20.0;"
        in one.what
    )


SMALL: list[dict[str, Any]] = [
    {"corrected": 30_000 * SPAN},  # seven times the others, and a bit error ratio of 7e-8
    {"uncorrected": 9},
    {"damaged": 9},
    {"marked": 10_000_000},  # 0.7 %
    {"received": 10_000},
    {"light": (-1.0, -5.5, -1.0, -1.0)},
    {"light": (-1.0, -8.9), "alarm": -10.0},
    {"light": (-1.0, float("-inf"), -1.0, -1.0)},  # the check reports dark lanes
    {"light": (-1.0, -10.1), "alarm": -10.0},  # and those beyond the alarm
]


@pytest.mark.parametrize("values", SMALL)
def test_small_differences_are_no_finding(values: dict[str, Any]) -> None:
    numbers = healthy(validator().expected)
    set_more(numbers["stripe1-leaf1"][uplink().name], **values)
    assert found(numbers) == []


def test_a_whole_kind_of_bad_ports_is_no_outlier() -> None:
    numbers = healthy(validator().expected)
    for ports in numbers.values():
        for one in ports.values():
            set_more(one, corrected=600_000 * SPAN, marked=60_000_000, light=(-8.0,) * 4)
    assert found(numbers) == []


def test_low_traffic_says_nothing_per_byte_and_is_counted_as_not_compared() -> None:
    numbers = healthy(validator().expected)
    for ports in numbers.values():
        for one in ports.values():
            one.in_bytes = one.out_bytes = 5e9
    set_more(numbers["stripe1-leaf1"][uplink().name], damaged=500, marked=100_000, received=5000, sent=5000)
    grey = search()
    assert found(numbers, grey=grey) == []
    total = sum(map(len, numbers.values()))
    for rule in ("crc-rate-unusual", "ecn-rate-unusual", "pfc-rate-unusual"):
        assert (grey.counts[rule].compared, grey.counts[rule].not_compared) == (0, total)
    assert grey.counts["fec-rate-unusual"].compared == total, "codewords come without traffic, too"


def test_two_peers_are_too_few() -> None:
    only = validator(only=("stripe1-leaf1",))
    numbers = healthy(only.expected)
    set_more(
        numbers["stripe1-leaf1"][uplink().name],
        corrected=600_000 * SPAN,
        damaged=60,
        marked=60_000_000,
        received=60_000,
        light=(-9.0,) * 4,
    )
    grey = search(only)
    assert found(numbers, only, grey) == []
    assert all(count.compared == 0 for count in grey.counts.values())


def test_what_no_device_reports_is_not_compared() -> None:
    numbers = healthy(validator().expected)
    for ports in numbers.values():
        for one in ports.values():
            set_more(one, corrected=None, uncorrected=None, marked=None, light=())
    grey = search()
    assert found(numbers, grey=grey) == []
    total = sum(map(len, numbers.values()))
    compared = {rule: (count.compared, count.not_compared) for rule, count in grey.counts.items()}
    assert compared == {
        "fec-rate-unusual": (0, total),
        "crc-rate-unusual": (total, 0),
        "light-unusual": (0, total),
        "load-asymmetric": (0, 0),  # of each path color there is one port
        "ecn-rate-unusual": (0, total),
        "pfc-rate-unusual": (total, 0),
    }


def test_both_ends_of_a_cable_are_one_finding_at_the_worse_end_which_stays() -> None:
    of = validator()
    numbers = healthy(of.expected)
    port = uplink()
    near, far = numbers["stripe1-leaf1"][port.name], numbers[port.peer][port.peer_port]
    near.corrected, far.corrected = 600_000 * SPAN, 900_000 * SPAN
    grey = search()
    [one] = found(numbers, grey=grey)
    assert one.where == f"{port.peer} {port.peer_port}"
    assert one.what.endswith(f"; at the other end, stripe1-leaf1 {port.name}: 600,000 FEC-corrected codewords/s")
    near.corrected = 3_000_000 * SPAN
    [one] = grey.seen(1000 + 2 * SPAN, states(of.expected, numbers, 2))
    assert one.where == f"{port.peer} {port.peer_port}", "an anomaly stays where it is"


def test_pauses_that_one_end_sends_and_the_other_receives_are_one_finding() -> None:
    numbers = healthy(validator().expected)
    port = uplink()
    numbers["stripe1-leaf1"][port.name].received = 60_000
    numbers[port.peer][port.peer_port].sent = 60_000
    [one] = found(numbers)
    assert (one.where, "PFC frames sent per GB received" in one.what) == (f"stripe1-leaf1 {port.name}", True)


def racks() -> tuple[Validator, str]:
    leaf = "plane1-stripe1-leaf1"
    return validator("gb300-racks", (leaf,)), leaf


@pytest.mark.parametrize(
    ("part", "text"), [(0.25, "carries 40.0 Gb/s, 25 % of 160 Gb/s"), (2.0, "carries 320 Gb/s, 200 %")]
)
def test_a_port_that_carries_less_or_more_than_its_equal_paths(part: float, text: str) -> None:
    of, leaf = racks()
    numbers = healthy(of.expected)
    port = uplink(of, leaf)
    numbers[leaf][port.name].out_bytes = FULL * part
    grey = search(of)
    [one] = found(numbers, of, grey)
    assert (one.rule.id, one.where) == ("load-asymmetric", f"{leaf} {port.name}")
    assert text in one.what
    assert "the median of the 53 other equal paths; counted: " in one.what
    assert (grey.counts["load-asymmetric"].compared, grey.counts["load-asymmetric"].not_compared) == (54, 0)


@pytest.mark.parametrize("part", [0.6, 1.4])
def test_loads_that_differ_little(part: float) -> None:
    of, leaf = racks()
    numbers = healthy(of.expected)
    numbers[leaf][uplink(of, leaf).name].out_bytes = FULL * part
    assert found(numbers, of) == []


def test_loads_are_not_compared_without_traffic_or_for_lost_sessions_or_ports_that_are_down() -> None:
    of, leaf = racks()
    port = uplink(of, leaf)
    idle = healthy(of.expected)
    for one in idle[leaf].values():
        one.out_bytes = FULL / 20
    idle[leaf][port.name].out_bytes = 0
    assert found(idle, of) == []
    lost = healthy(of.expected)
    lost[leaf][port.name].out_bytes = 0
    grey = search(of)
    list(grey.seen(0, states(of.expected, lost, 0)))
    now = states(of.expected, lost, 1)
    session = BgpSession("fe80::1", interface=f"{port.name}.0", state="active")
    assert list(grey.seen(SPAN, {leaf: replace(now[leaf], bgp=(session,))})) == []
    [one] = grey.seen(SPAN + 1, {leaf: replace(now[leaf], bgp=(replace(session, state="established"),))})
    assert one.rule.id == "load-asymmetric"
    lost[leaf][port.name].up = False
    assert found(lost, of) == []


def test_colors_and_rails_that_carry_different_loads_are_no_finding() -> None:
    """Each path color of this design has its own port, and servers of different rails have different leaves."""
    of = validator()
    numbers = healthy(of.expected)
    for ports in numbers.values():
        for number, one in enumerate(ports.values()):
            part = (1.0, 0.01, 0.4, 0.2)[number % 4]
            one.in_bytes = one.out_bytes = FULL * part
    grey = search()
    assert found(numbers, grey=grey) == []
    assert grey.counts["load-asymmetric"].compared == 0


def noisy(expected: Mapping[str, Expected], seed: int) -> Numbers:
    """A healthy network: error rates that differ by half a decade, some errors, marks and pauses, and flows that hashes placed."""
    chance = np.random.default_rng(seed)
    numbers = healthy(expected)
    level = chance.uniform(-9, -5.5)
    for ports in numbers.values():
        for one in ports.values():
            carried = FULL * chance.lognormal(0, 0.12)
            set_more(
                one,
                in_bytes=FULL * chance.lognormal(0, 0.12),
                out_bytes=carried,
                corrected=10 ** chance.normal(level, 0.4) * 400e9 * SPAN,
                uncorrected=chance.poisson(0.5),
                damaged=chance.poisson(0.8),
                marked=carried / 4096 * 0.004 * chance.lognormal(0, 0.5),
                received=chance.poisson(300 * chance.lognormal(0, 0.8)),
                sent=chance.poisson(300 * chance.lognormal(0, 0.8)),
                ber=10 ** chance.normal(level, 0.4),
                light=tuple(chance.normal(-1, 0.7, 4)),
            )
    return numbers


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_healthy_networks_with_noise_have_no_finding(first: int) -> None:
    of, _ = racks()
    for seed in range(first, first + 50):
        assert found(noisy(validator().expected, seed)) == [], seed
        assert found(noisy(of.expected, seed), of) == [], seed


def light_over(
    hours: float, light_at: Callable[[float], tuple[float, ...]], serial: str = "A"
) -> list[list[Deviation]]:
    """The findings of one leaf every ten minutes, whose first uplink receives the light that a function gives for each hour."""
    of = validator(only=("stripe1-leaf1",))
    grey = search(of)
    numbers = healthy(of.expected)
    one = numbers["stripe1-leaf1"][uplink().name]
    rounds: list[list[Deviation]] = []
    for step in range(int(hours * 6)):
        one.light = light_at(step / 6)
        one.serial = serial if one.light[0] < -2 else "A"
        rounds.append(list(grey.seen(step * 600.0, states(of.expected, numbers, step))))
    return rounds


def test_light_that_falls_is_compared_with_earlier_readings_of_the_lane() -> None:
    rounds = light_over(4, lambda hour: (-1.0, -1.0 if hour < 3 else -3.5))
    assert not any(rounds[:19]), "one low reading is no trend"
    [one] = rounds[19]
    assert "lane 2 receives -3.5 dBm; the median of its 13 earlier readings since 3 h ago is -1.0 dBm" in one.what
    assert not any(light_over(4, lambda hour: (-1.0, -1.0 if hour != 3 else -3.5)))
    assert not any(light_over(4, lambda hour: (-1.0, -1.0 - 0.4 * hour))), "less than 2 dB in the time"


def test_light_of_another_module_is_compared_with_its_own_readings() -> None:
    assert not any(light_over(4, lambda hour: (-1.0 if hour < 3 else -4.0,), serial="B"))
    assert any(light_over(4, lambda hour: (-1.0 if hour < 3 else -4.0,), serial="A"))


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_light_with_noise_is_no_trend(first: int) -> None:
    for seed in range(first, first + 100):
        light = np.random.default_rng(seed).normal(-1.5, 0.3, (18, 4)).tolist()
        assert not any(light_over(3, lambda hour, light=light: tuple(light[round(hour * 6)])))


def test_odd_values_raise_no_error_and_are_not_compared() -> None:
    numbers = healthy(validator().expected)
    nan, inf = float("nan"), float("inf")
    odd: list[dict[str, Any]] = [
        {"in_bytes": nan, "out_bytes": inf, "corrected": -inf, "ber": nan, "light": (nan, inf), "alarm": nan},
        {"in_bytes": "many", "light": ("bright",)},
        {"damaged": "x", "alarm": "low"},
        {"in_bytes": 10**400, "out_bytes": 1e300, "received": -1e300},
    ]
    ports = [port.name for port in validator().expected["spine1"].ports]
    for name, values in zip(ports, odd, strict=False):
        set_more(numbers["spine1"][name], **values)
    grey = search()
    assert [one for one in found(numbers, grey=grey) if one.device == "spine1"] == []
    assert grey.counts["fec-rate-unusual"].not_compared == 3


def test_missing_devices_and_tables_and_an_empty_network() -> None:
    of = validator()
    grey = search()
    assert list(grey.seen(0, {})) == []
    assert list(grey.seen(10, {"spine1": DeviceState("spine1", "junos"), "other": DeviceState("other", "junos")})) == []
    assert all(count.compared == 0 and count.unusual == 0 for count in grey.counts.values())
    assert list(GreyFailures(of.network, {}, 30).seen(0, {})) == []


def test_counters_that_were_cleared_or_not_read_again_are_not_compared() -> None:
    of = validator()
    numbers = healthy(of.expected)
    grey = search()
    found(numbers, grey=grey)
    total = sum(map(len, numbers.values()))
    cleared = states(of.expected, numbers, 0)
    list(grey.seen(1310, cleared))
    assert grey.counts["crc-rate-unusual"].compared == 0
    list(grey.seen(1310 + 700, cleared))
    assert grey.counts["fec-rate-unusual"].compared == 0, "no device has new numbers"
    list(grey.seen(1310 + 701, states(of.expected, numbers, 1)))
    assert grey.counts["fec-rate-unusual"].compared == total


def test_rates_are_of_the_time_between_new_numbers() -> None:
    """A device that is asked every minute has numbers of the last minute, whenever they are compared."""
    of = validator()
    numbers = healthy(of.expected)
    numbers["stripe1-leaf1"][uplink().name].corrected = 600_000 * SPAN
    grey = search()
    list(grey.seen(0, states(of.expected, numbers, 0)))
    now = states(of.expected, numbers, 1)
    [one] = grey.seen(SPAN, now)
    [later] = grey.seen(SPAN + 50, now)
    assert one.what == later.what


def test_an_outlier_stays_while_the_window_moves_and_ends_with_it() -> None:
    of = validator()
    numbers = healthy(of.expected)
    one = numbers["stripe1-leaf1"][uplink().name]
    one.corrected = 600_000 * SPAN
    grey = search()
    sizes: list[int] = []
    for step in range(40):
        now = states(of.expected, numbers, step / 5)
        if step >= 15:  # repaired: the counter rises as elsewhere from here on
            port = uplink().name
            known = (now["stripe1-leaf1"].interfaces or {})[port]
            fixed = int(600_000 * SPAN * 3 + 4000 * SPAN * (step / 5 - 3)) + 1_000_000
            interfaces = {**(now["stripe1-leaf1"].interfaces or {}), port: replace(known, fec=Fec(corrected=fixed))}
            now["stripe1-leaf1"] = replace(now["stripe1-leaf1"], interfaces=interfaces)
        sizes.append(len(list(grey.seen(step * 60.0, now))))
    assert sizes[:2] == [0, 0]
    assert all(sizes[2:23])
    assert not any(sizes[26:])


def test_the_validator_reports_them_and_an_anomaly_is_the_same_in_each_round() -> None:
    of = validator()
    of._earlier.clear()
    numbers = healthy(of.expected)
    port = uplink()
    set_more(numbers["stripe1-leaf1"][port.name], corrected=600_000 * SPAN, light=(-7.5,))
    known = Anomalies(frozenset(of.expected), 60)
    opened: list[str] = []
    for step in range(4):
        numbers["stripe1-leaf1"][port.name].light = (-7.5 - step / 10,)
        now = NetworkSnapshot(1000 + step * SPAN, states(of.expected, numbers, step * (1 + step / 50)), {}, {}, {}, {})
        findings = [one for one in of.findings(now) if one.id in {"fec-rate-unusual", "light-unusual"}]
        opened += [one.finding.id for change, one in known.see(findings, now.time) if change == "opened"]
    assert sorted(opened) == ["fec-rate-unusual", "light-unusual"]
    assert of.grey.counts["fec-rate-unusual"].unusual == 1


def test_peers_are_ports_of_the_same_kind() -> None:
    """Leaves have ports to servers and to spines; a server port has no spine port as a peer."""
    network: Network = validator().network
    numbers = healthy(validator().expected)
    port = next(one for one in validator().expected["stripe1-leaf1"].ports if one.kind == "server")
    numbers["stripe1-leaf1"][port.name].corrected = 600_000 * SPAN
    [one] = found(numbers)
    leaves = [switch.name for switch in network.switches if switch.role == "leaf"]
    others = sum(each.kind == "server" for name in leaves for each in validator().expected[name].ports) - 1
    assert f"the median of {others} other leaf-server ports of 400G is 4,000" in one.what
    assert f"; at the other end, {port.peer} {port.peer_port}" in one.what
