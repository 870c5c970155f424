"""Alpha of dynamic thresholds, also of an index that a text may have and no chip has."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from railweave.analysis.checks.buffers import lossless_queue_full
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.catalog.shares import alpha, held_share
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.prediction.simulation.model.fabric import packet_fabric
from railweave.systems import system
from tests.conftest import example
from tests.retarget import retargeted

LEAF = "stripe1-leaf1"
FAR = 1_000_000
"""An index whose power of two no floating-point number holds, either way."""


def with_thresholds(config: DeviceConfig, index: int) -> DeviceConfig:
    """The configuration with one index everywhere."""
    qos = config.qos
    assert qos is not None
    classes = {name: replace(one, dynamic_threshold=index) for name, one in qos.classes.items()}
    buffers = replace(qos.buffers, ingress_dynamic_threshold=index)
    return replace(config, qos=replace(qos, classes=classes, buffers=buffers))


def test_alpha_is_a_power_of_two() -> None:
    assert [alpha(index) for index in (0, 1, 6, 7, 8, 10)] == [1 / 128, 1 / 64, 1 / 2, 1, 2, 8]


@pytest.mark.parametrize(("index", "nearest"), [(-1, 0), (-FAR, 0), (11, 10), (FAR, 10)])
def test_the_nearest_index_stands_for_one_that_no_chip_has(index: int, nearest: int) -> None:
    assert alpha(index) == alpha(nearest)
    assert held_share(index, 3) == held_share(nearest, 3)


def test_the_share_that_users_hold_together() -> None:
    """With alpha 1, one user has half of a pool, and three have three quarters."""
    assert (held_share(7), held_share(7, 3)) == (0.5, 0.75)


@pytest.mark.parametrize(("index", "share"), [(FAR, "8"), (-FAR, "0.0078125")])
def test_the_simulator_takes_the_nearest_index(index: int, share: str) -> None:
    network = example("h100-rlb")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    configs[LEAF] = with_thresholds(configs[LEAF], index)
    fabric = packet_fabric(network, configs, ControlPlane(configs.values()).routes())
    wiring = fabric.wiring
    own = fabric.profiles[fabric.profile[len(wiring.nics) + wiring.switches.index(LEAF)]]
    assert own["switch.ingress-alpha-lossless"] == share
    assert {value for name, value in own.items() if name.endswith("egress-alpha")} == {share}


@pytest.mark.parametrize(("index", "share"), [(FAR, "8"), (-FAR, "1/128")])
def test_both_forms_of_eos_print_the_nearest_index(index: int, share: str) -> None:
    network = retargeted("h100-rlb", "eos")
    config = with_thresholds(device_config(network, LEAF, "eos"), index)
    files = system("eos").files(config)
    lines = [line.split() for line in files["eos.conf"].splitlines()]
    printed = [line for line in lines if line[-2:-1] == ["threshold"] and "group" not in line[-3]]
    assert {line[-1] for line in printed} == {share}
    assert {line[0] for line in printed} == {"ingress", "egress"}
    (profile,) = json.loads(files["avd.json"])["platform"]["trident"]["mmu"]["queue_profiles"]
    of_avd = (*profile["unicast_queues"], *profile["ingress"]["priority_groups"])
    assert {one["threshold"] for one in of_avd} == {share}


@pytest.mark.parametrize(("index", "nearest"), [(FAR, 10), (-FAR, 0)])
def test_the_check_of_full_queues_takes_the_nearest_index(index: int, nearest: int) -> None:
    network = example("h100-rlb")
    config = device_config(network, LEAF)
    found = [
        lossless_queue_full.run(Subject(network, {LEAF: with_thresholds(config, one)})) for one in (index, nearest)
    ]
    far, near = ([one.what for one in every] for every in found)
    assert [one.replace(str(index), str(nearest)) for one in far] == near
