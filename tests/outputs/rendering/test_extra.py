"""Own statements that concern both ends of a link are warned of on every system, others are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.model.device.build import device_config
from railweave.systems import system
from tests.conftest import example

PORT = '{"PORT": {"Ethernet0": {"%s": "%s"}}}'


@pytest.mark.parametrize(
    ("nos", "extra", "said"),
    [
        ("junos", "set interfaces et-0/0/16:0 mtu 1514", "mtu"),
        (
            "junos",
            "set class-of-service schedulers no-loss explicit-congestion-notification",
            "explicit-congestion-notification",
        ),
        ("junos", "set interfaces et-0/0/16:0 description rack7-mtu", ""),
        ("junos", "set system location building hall1", ""),
        ("eos", "interface Ethernet1/1\n   mtu 1500", "mtu"),
        ("eos", "interface Ethernet1/1\n   tx-queue 3\n      random-detect ecn minimum-threshold 1 kbytes", "ecn"),
        ("eos", "interface Ethernet1/1\n   logging event link-status", ""),
        ("sonic", PORT % ("mtu", "1500"), "mtu"),
        ("sonic", PORT % ("alias", "etp1"), ""),
        ("dell_sonic", "interface Eth1/1\n mtu 1500", "mtu"),
    ],
)
def test_one_end_alone(nos: str, extra: str, said: str) -> None:
    config = replace(device_config(example("h100-rlb"), "stripe1-leaf1", nos), extra=extra)
    found = [one.what for one in system(nos).gaps(config) if one.id == "extra-one-end"]
    assert found == ([f"own statements set {said} at this end alone"] if said else [])
