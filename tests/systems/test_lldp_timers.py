"""The interval and the hold time of LLDP: rendered and read on every system that has them, and named where one has not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from railweave.model.device.build import device_config
from railweave.systems import system
from tests.model.intent.test_limits import FABRIC, refused
from tests.retarget import retargeted

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.device.model import DeviceConfig

TIMED = ("junos", "eos", "dell_sonic")


def timed(nos: str, interval: int | None, hold: int | None) -> DeviceConfig:
    """Return the configuration of a switch with these timers."""
    network = retargeted("two-planes", nos)
    config = device_config(network, network.switches[0].name, nos)
    return replace(config, management=replace(config.management, lldp_interval=interval, lldp_hold=hold))


def read(nos: str, files: dict[str, str]) -> tuple[int | None, int | None]:
    reader = system(nos).reader
    assert reader is not None
    management = reader.read(files).config.management
    return management.lldp_interval, management.lldp_hold


@pytest.mark.parametrize("nos", TIMED)
@pytest.mark.parametrize(("interval", "hold"), [(None, None), (5, None), (None, 2), (10, 3), (254, 10)])
def test_timers_come_back(nos: str, interval: int | None, hold: int | None) -> None:
    config = timed(nos, interval, hold)
    files = system(nos).files(config)
    assert read(nos, {file: files[file] for file in system(nos).configurations(config)}) == (interval, hold)


def test_lines() -> None:
    printed = {nos: "\n".join(system(nos).files(timed(nos, 10, 3)).values()) for nos in TIMED}
    assert "lldp timer 10\nlldp hold-time 30\n" in printed["eos"]
    assert '"timer": 10' in printed["eos"]
    assert '"holdtime": 30' in printed["eos"]
    assert "set protocols lldp advertisement-interval 10\nset protocols lldp hold-multiplier 3\n" in printed["junos"]
    assert "lldp timer 10\nlldp multiplier 3\n" in printed["dell_sonic"]


@pytest.mark.parametrize(
    ("text", "interval", "hold", "unknown"),
    [
        ("lldp timer 20\nlldp hold-time 60\n", 20, 3, []),
        ("lldp hold-time 90\n", None, 3, []),
        ("lldp timer 20\nlldp hold-time 70\n", 20, None, [2]),
        ("lldp hold-time 70\n", None, None, [1]),
    ],
)
def test_a_hold_time_of_eos_is_intervals_or_not_understood(
    text: str, interval: int | None, hold: int | None, unknown: list[int]
) -> None:
    reader = system("eos").reader
    assert reader is not None
    found = reader.read({"eos.conf": text})
    assert (found.config.management.lldp_interval, found.config.management.lldp_hold) == (interval, hold)
    assert [statement.line for statement in found.not_understood] == unknown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lldp_interval: 4", "lldp_interval"),
        ("lldp_interval: 255", "lldp_interval"),
        ("lldp_hold: 1", "lldp_hold"),
        ("lldp_hold: 11", "lldp_hold"),
        ("lldp: false, lldp_hold: 4", "`lldp_hold` is given, but `lldp` is off"),
    ],
)
def test_what_no_system_takes_is_refused(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(tmp_path, f"{FABRIC}management: {{{text}}}\n")
