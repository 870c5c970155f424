"""Two lossless classes, storage beside GPU traffic: what NICs are told, and what the server's checks say of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from railweave.errors import DesignError
from railweave.outputs.rendering.host import nic_qos
from railweave.outputs.rendering.host.host_json import document
from tests.host.machines import Parts, Written, healthy
from tests.host.test_checks import look, wrong
from tests.outputs.rendering.host.stand_ins import Machine, config_of

if TYPE_CHECKING:
    from railweave.model.device.host_model import HostConfig

STORAGE = "storage: {queue: 5, dscp: [18, 20], lossless: true, pfc_priority: 4, bandwidth: 30}"
TWO = f", qos: {{classes: {{no-loss: {{bandwidth: 50}}, {STORAGE}, best-effort: {{bandwidth: 10}}}}}}"
LOSSY = f", qos: {{classes: {{no-loss: {{lossless: false, pfc_priority: null, bandwidth: 50}}, {STORAGE}}}}}"
"""Storage is paused, and RDMA data of jobs is not."""
SECOND_MARKED = TWO.replace("no-loss: {", "no-loss: {ecn: null, ").replace("bandwidth: 30", "bandwidth: 30, ecn: {}")
"""Switches mark storage alone."""
CONNECTX, THOR2, POLLARA = "h100-8gpu-cx7", "mi300x-8gpu-thor2", "mi355x-8gpu-pollara"


def two(folder: Path, model: str = CONNECTX, leaf: str = TWO) -> HostConfig:
    return config_of(folder, model, leaf)


def applied(folder: Path, model: str, leaf: str = TWO, **tools: str) -> tuple[Machine, str]:
    """The script run on a machine with one NIC and these tools; and what it complained of."""
    config = two(folder, model, leaf)
    config = replace(config, nics=config.nics[:1])
    (folder / "machine").mkdir()
    machine = Machine(folder / "machine")
    machine.nics(config)
    machine.tool("ethtool")
    for name, text in tools.items():
        machine.tool(name, text)
    if model == CONNECTX:
        machine.attribute("class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106")
        for priority in (3, 4):
            for side in ("np", "rp"):
                machine.attribute(
                    f"class/net/gpu0_eth/ecn/roce_{side}/enable/{priority}", "1" if priority == 4 else "0"
                )
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    return machine, done.stderr


def test_the_design_of_both(tmp_path: Path) -> None:
    (qos,) = two(tmp_path).qos
    (storage,) = qos.other_lossless
    assert (storage.name, storage.dscp, storage.priority, storage.ecn, storage.bandwidth_percent) == (
        "storage", (18, 20), 4, False, 30,
    )  # fmt: skip
    assert qos.bandwidth_percent == 50
    assert [dscp for dscp, priority in enumerate(qos.priorities) if priority == 4] == [18, 20]


def test_a_class_without_a_share_divides_what_is_left_with_the_rest(tmp_path: Path) -> None:
    (qos,) = config_of(tmp_path, leaf=TWO.replace(", bandwidth: 30", "")).qos
    assert (qos.bandwidth_percent, qos.other_lossless[0].bandwidth_percent) == (50, 25)


def test_congestion_notification_gets_a_priority_that_nothing_pauses(tmp_path: Path) -> None:
    (qos,) = config_of(tmp_path, leaf=TWO.replace("pfc_priority: 4", "pfc_priority: 6")).qos
    assert qos.cnp_priority == 7


def test_classes_that_leave_nothing_for_the_rest_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        DesignError, match=r"lossless classes together get 100 % of a NIC's link: no-loss 80 %, storage 30 %"
    ):
        config_of(tmp_path, leaf=TWO, more="hosts: {roce_bandwidth: 80}")


def test_connectx_by_mlnx_qos(tmp_path: Path) -> None:
    machine, problems = applied(tmp_path, CONNECTX, mlnx_qos="", mlxreg="")
    assert problems == ""
    assert [one.removeprefix("mlnx_qos -i gpu0_eth ") for one in machine.calls("mlnx_qos")][-2:] == [
        "--prio_tc 0,0,0,1,3,0,2,0 --tcbw 20,50,0,30,0,0,0,0 --tsa ets,ets,strict,ets,strict,strict,strict,strict",
        "--pfc 0,0,0,1,1,0,0,0",
    ]
    ecn = machine.sys / "class/net/gpu0_eth/ecn"
    assert [(ecn / f"roce_np/enable/{one}").read_text().strip() for one in (3, 4)] == ["1", "0"]
    # Nothing forces the class of every queue pair: storage asks for its own.
    assert (machine.sys / "class/infiniband/mlx5_0/tc/1/traffic_class").read_text() == "-1\n"


def test_connectx_and_thor2_by_dcb(tmp_path: Path) -> None:
    shown = 'printf "  PRIO_MAP: 0:0 1:0 2:0 3:1 4:3 5:0 6:0 7:2\\n  PFC enabled: 3, 4\\n"'
    for model, cnp in ((CONNECTX, 6), (THOR2, 7)):
        (tmp_path / model).mkdir()
        machine, problems = applied(tmp_path / model, model, dcb="", niccli=shown)
        assert model == CONNECTX or problems == ""
        calls = [one.split(" dev ")[1].split(" ", 1)[1] for one in machine.calls("dcb") if " show " not in one]
        assert f"tc-tsa all:strict 0:ets 1:ets 3:ets tc-bw all:0 0:20 1:50 3:30 prio-tc all:0 3:1 {cnp}:2 4:3" in calls
        assert "prio-pfc all:off 3:on 4:on" in calls


def test_thor2_that_pauses_one_class_only_is_a_problem(tmp_path: Path) -> None:
    shown = 'printf "  PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2\\n  PFC enabled: 3\\n"'
    _, problems = applied(tmp_path, THOR2, dcb="", niccli=shown)
    assert "priority 4 is not in traffic class 3" in problems
    assert "PFC is on for 3, not 3 4" in problems


def test_pollara(tmp_path: Path) -> None:
    machine, problems = applied(tmp_path, POLLARA, nicctl="")
    assert problems == ""
    calls = machine.calls("nicctl")
    assert "nicctl update qos dscp-to-priority --dscp 18,20 --priority 4" in calls
    assert "nicctl update qos pfc --priority 4 --no-drop enable" in calls
    assert "nicctl update qos scheduling --priority 3,4,0,6 --dwrr 50,30,20,0 --rate-limit 0,0,0,10" in calls


def server_of(folder: Path, model: str, leaf: str = TWO, *, vendor_tools: bool = True) -> tuple[Path, Parts]:
    """The plan of a server, and the server as it should be."""
    plan = json.loads(json.dumps(document(two(folder, model, leaf))))
    path = folder / "host.json"
    path.write_text(json.dumps(plan))
    return path, healthy(plan, vendor_tools=vendor_tools)


@pytest.mark.parametrize("vendor_tools", [True, False])
@pytest.mark.parametrize("model", [CONNECTX, THOR2])
@pytest.mark.parametrize("leaf", [TWO, LOSSY, SECOND_MARKED])
def test_a_server_with_both_classes_passes(leaf: str, model: str, vendor_tools: bool, tmp_path: Path) -> None:
    path, parts = server_of(tmp_path, model, leaf, vendor_tools=vendor_tools)
    results = look(path, Written(parts))
    assert [one for one in wrong(results) if "qos" in one or "counters" in one] == []
    assert {one.outcome.verdict for one in results if one.check.id == "qos-pfc"} == {"ok"}


@pytest.mark.parametrize(
    ("command", "was", "now", "said"),
    [
        (
            "mlnx_qos",
            "enabled     0   0   0   1   1",
            "enabled     0   0   0   1   0",
            "qos-pfc gpu0_eth: failed: on for 3 ",
        ),
        ("mlnx_qos", "tsa: ets, bw: 30%", "tsa: ets, bw: 10%", "qos-scheduling gpu0_eth: failed: storage has 10 %"),
        (
            "mlnx_qos",
            "prio:4 dscp:20,18",
            "prio:4 dscp:22,20,18",
            "qos-dscp gpu0_eth: failed: DSCP 22 in priority 4, which is paused",
        ),
        ("mlnx_qos", "prio:4 dscp:20,18", "prio:2 dscp:20,18", "qos-dscp gpu0_eth: failed: DSCP 18 in priority 2"),
    ],
)
def test_a_second_class_that_is_not_as_designed_is_found(
    command: str, was: str, now: str, said: str, tmp_path: Path
) -> None:
    path, parts = server_of(tmp_path, CONNECTX)
    words = (command, "-i", "gpu0_eth")
    assert was in parts.commands[words].out
    parts.say(parts.commands[words].out.replace(was, now), *words)
    found = wrong(look(path, Written(parts)))
    assert [one for one in found if one.startswith(said)], found


def test_a_class_forced_on_every_queue_pair_is_found(tmp_path: Path) -> None:
    path, parts = server_of(tmp_path, CONNECTX)
    parts.files["/sys/class/infiniband/mlx5_0/tc/1/traffic_class"] = "Global tclass=106"
    parts.files["/sys/class/net/gpu0_eth/ecn/roce_np/enable/4"] = "1"
    found = wrong(look(path, Written(parts)))
    assert [one.split(":")[0] for one in found if "qos" in one] == [
        "qos-congestion-control gpu0_eth",
        "qos-traffic-class gpu0_eth",
    ]


@pytest.mark.parametrize("priority", [3, 4])
def test_rdma_data_may_be_lossy_beside_lossless_storage(priority: int, tmp_path: Path) -> None:
    config = two(tmp_path, leaf=LOSSY.replace("pfc_priority: 4", f"pfc_priority: {priority}"))
    (qos,) = config.qos
    assert (qos.dscp, qos.traffic_class, qos.lossless, qos.ecn) == (26, 106, False, True)
    assert [(one.name, one.priority, one.bandwidth_percent) for one in qos.other_lossless] == [
        ("storage", priority, 30)
    ]
    assert [dscp for dscp, own in enumerate(qos.priorities) if own == priority] == [18, 20]
    assert qos.priority not in {priority, qos.cnp_priority}
    assert {one.name: one.value for one in config.job}["NCCL_IB_TC"] == "106"


def test_only_storage_is_paused_then_on_connectx(tmp_path: Path) -> None:
    machine, problems = applied(tmp_path, CONNECTX, LOSSY, mlnx_qos="", mlxreg="")
    assert problems == ""
    assert [one.removeprefix("mlnx_qos -i gpu0_eth ") for one in machine.calls("mlnx_qos")][-2:] == [
        "--prio_tc 0,0,0,0,3,0,2,0 --tcbw 70,0,0,30,0,0,0,0 --tsa ets,strict,strict,ets,strict,strict,strict,strict",
        "--pfc 0,0,0,0,1,0,0,0",
    ]
    assert (machine.sys / "class/net/gpu0_eth/ecn/roce_np/enable/3").read_text() == "1\n"
    assert (machine.sys / "class/infiniband/mlx5_0/tc/1/traffic_class").read_text() == "-1\n"


def test_only_storage_is_paused_then_on_thor2(tmp_path: Path) -> None:
    shown = 'printf "  PRIO_MAP: 0:0 1:0 2:0 3:0 4:3 5:0 6:0 7:2\\n  PFC enabled: 4\\n"'
    machine, problems = applied(tmp_path, THOR2, LOSSY, dcb="", niccli=shown)
    assert problems == ""
    calls = [one.split(" dev ")[1].split(" ", 1)[1] for one in machine.calls("dcb") if " show " not in one]
    assert "tc-tsa all:strict 0:ets 3:ets tc-bw all:0 0:70 3:30 prio-tc all:0 7:2 4:3" in calls
    assert "prio-pfc all:off 4:on" in calls


def test_only_storage_is_paused_then_on_pollara(tmp_path: Path) -> None:
    machine, problems = applied(tmp_path, POLLARA, LOSSY, nicctl="")
    assert problems == ""
    calls = machine.calls("nicctl")
    assert [one for one in calls if "no-drop" in one] == ["nicctl update qos pfc --priority 4 --no-drop enable"]
    assert "nicctl update qos scheduling --priority 4,0,6 --dwrr 30,70,0 --rate-limit 0,0,10" in calls


@pytest.mark.parametrize(("service_type", "verdict"), [("0", "ok"), ("1", "failed"), (None, "failed")])
def test_firmware_without_a_class_for_congestion_notification(
    service_type: str | None, verdict: str, tmp_path: Path
) -> None:
    """Thor2 whose notification is in class 0: as it must be only if the driver says that firmware has no service type."""
    path, parts = server_of(tmp_path, THOR2)
    for words in [one for one in parts.commands if one[-3:] == ("qos", "--ets", "--show")]:
        parts.say(parts.commands[words].out.replace("7:2", "7:0"), *words)
    if service_type is not None:
        for number in range(8):
            parts.files[f"/sys/kernel/debug/bnxt_re/bnxt_re{number}/info"] = (
                f"fw_service_prof_type_sup = {service_type}"
            )
    found = {one.outcome.verdict for one in look(path, Written(parts)) if one.check.id == "qos-scheduling"}
    assert found == {verdict}


def test_congestion_control_is_on_where_any_class_is_marked(tmp_path: Path) -> None:
    assert "\nFC_MODE=3\n" in nic_qos.files(two(tmp_path, THOR2, SECOND_MARKED))["bnxt_re.conf"]
    machine, _ = applied(tmp_path, POLLARA, SECOND_MARKED, nicctl="")
    assert [one for one in machine.calls("nicctl") if "dcqcn" in one]


def test_every_dscp_of_a_class_is_designed(tmp_path: Path) -> None:
    path, parts = server_of(tmp_path, CONNECTX, TWO.replace("no-loss: {", "no-loss: {dscp: [26, 27], "))
    assert json.loads(path.read_text())["fabrics"]["backend"]["roce"]["other_dscp"] == [27]
    assert [one for one in wrong(look(path, Written(parts))) if "qos-dscp" in one] == []
