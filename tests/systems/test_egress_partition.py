"""An egress partition that is left to the system's default, and two lossless classes: rendered and read back on every system."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.analysis.checks.buffers import lossless_shares
from railweave.analysis.checks.subject import Subject
from railweave.errors import DesignError, InputError
from railweave.model.device.build import device_config
from railweave.model.intent.profiles import QOS
from railweave.model.network.model import Network
from railweave.systems import system
from tests.conftest import designed
from tests.dual_stack import FABRICS
from tests.systems.test_pfc_ports import MODELS
from tests.systems.there_and_back import lost, one_of_each_role

BY_SYSTEM = "{buffers: {egress: system}}"
TWO = (
    "{classes: {no-loss: {bandwidth: 50}, best-effort: {bandwidth: 10}, "
    "storage: {queue: 5, dscp: [18], lossless: true, pfc_priority: 4, bandwidth: 30, ecn: {}}}}"
)


def network(folder: Path, qos: str, nos: str = "junos") -> Network:
    text = FABRICS["plain"].replace(
        "load_balancing: {mode: ecmp}", f"qos: {qos}\n        load_balancing: {{mode: ecmp}}"
    )
    if nos != "junos":
        for model in ("qfx5240-64od", "qfx5240-64qd"):
            text = text.replace(f"{{device: {model}, release: 23.4X100-D31", "{device: " + MODELS[nos])
    return designed(folder, text)[0]


@pytest.mark.parametrize("nos", ["junos", *MODELS])
@pytest.mark.parametrize("qos", [BY_SYSTEM, TWO])
def test_there_and_back(tmp_path: Path, qos: str, nos: str) -> None:
    found = network(tmp_path, qos, nos)
    for name in one_of_each_role(found):
        config = device_config(found, name)
        assert config.nos == nos
        assert lost(config) == []


def test_junos_has_no_egress_partition_then(tmp_path: Path) -> None:
    config = device_config(network(tmp_path, BY_SYSTEM), "stripe1-leaf1")
    text = system("junos").files(config)["junos.conf"]
    partition = text.split("shared-buffer {")[1].split("forwarding-classes")[0]
    assert "ingress {" in partition
    assert "egress {" not in partition
    assert config.qos is not None
    assert (config.qos.buffers.egress_lossless, config.qos.buffers.egress_lossy) == (50, 31)


def test_a_share_of_the_egress_buffer_beside_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="egress_lossless beside `egress: system`"):
        network(tmp_path, "{buffers: {egress: system, egress_lossless: 70}}")


def test_it_stands_beside_every_profile(tmp_path: Path) -> None:
    for name in QOS:
        qos = network(tmp_path, f"{{profile: {name}, buffers: {{egress: system}}}}").fabrics[0].leaf.qos
        assert (qos.buffers.egress_lossless, qos.buffers.egress_lossy, qos.buffers.egress_multicast) == (50, 31, 19)
        assert (qos.buffers.lossless, qos.buffers.headroom) == (80, 10)


@pytest.mark.parametrize("nos", ["eos", "dell_sonic"])
def test_systems_that_take_no_partition_are_as_without_it(tmp_path: Path, nos: str) -> None:
    with_it, without = (device_config(network(tmp_path, one, nos), "spine1").qos for one in (BY_SYSTEM, "{}"))
    assert with_it == without


def test_equal_shares_are_to_be_had_beside_it(tmp_path: Path) -> None:
    text = FABRICS["plain"].replace(
        "load_balancing: {mode: ecmp}", f"qos: {BY_SYSTEM}\n        load_balancing: {{mode: ecmp}}"
    )
    for model in ("qfx5240-64od", "qfx5240-64qd"):
        text = text.replace(f"{{device: {model}, release: 23.4X100-D31", "{device: qfx5230-64cd, release: 23.4X100-D31")
    found = list(lossless_shares.run(Subject.of(designed(tmp_path, text)[0])))
    assert {one.fix for one in found} == {"set `lossless: 50` in `qos.buffers`, or leave out `egress: system`"}


SEVEN = "{classes: {no-loss: {pfc_priority: 7}}}"


def test_a_lossless_class_on_priority_7_has_its_priority_group_to_itself(tmp_path: Path) -> None:
    config = device_config(network(tmp_path, SEVEN, "dell_sonic"), "stripe1-leaf1")
    text = "\n".join(system("dell_sonic").files(config).values())
    assert "traffic-class 7 priority-group 7" in text
    assert "traffic-class 0-6 priority-group 6" in text
    assert lost(config) == []


@pytest.mark.parametrize(
    ("qos", "said"),
    [
        (
            SEVEN,
            r"on Arista EOS.*queue 7.* too few queues above it are left for the strict class cnp\n.*pfc_priority of at most 6",
        ),
        (
            "{classes: {no-loss: {priority: strict-high}}}",
            r"on Arista EOS.*queue 3.*, but network-control above it shares.*\n.*`priority: low`",
        ),
    ],
)
def test_strict_queues_that_eos_cannot_have_are_refused(tmp_path: Path, qos: str, said: str) -> None:
    with pytest.raises(DesignError, match=said):
        network(tmp_path, qos, "eos")


def test_a_strict_class_rises_above_a_lossless_one_on_eos(tmp_path: Path) -> None:
    strict = "{classes: {network-control: null, control: {queue: 1, dscp: [40], priority: strict-high}, cnp: null}}"
    found = device_config(network(tmp_path, strict, "eos"), "stripe1-leaf1").qos
    assert found is not None
    assert (found.classes["no-loss"].queue, found.classes["control"].queue) == (3, 7)
