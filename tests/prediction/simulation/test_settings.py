"""Parameters by name: read where they come in, and by the engine's own units where the model needs one."""

from __future__ import annotations

from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError, Option
from railweave.model.network.model import Network
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.job import job_of
from railweave.prediction.simulation.model.wiring import wire
from railweave.prediction.simulation.settings import by_name, packets_acknowledged, payload_bytes, post_cost_ps, texts
from railweave.prediction.simulation.varied import variants
from tests.conftest import EXAMPLES, designed, example

LAB = railweave.load(EXAMPLES / "h100-rlb.yaml")
MIB = 1 << 20


def test_words_become_a_mapping() -> None:
    assert by_name(["host.mtu=4K", "dlb.min=1=2", "host.mtu=1K"], "--set") == {"host.mtu": "1K", "dlb.min": "1=2"}
    assert by_name({"host.mtu": "4K"}, "--set") == {"host.mtu": "4K"}
    with pytest.raises(InputError) as error:
        by_name(["host.mtu"], "--set")
    (problem,) = error.value.problems
    assert (problem.place, problem.what) == (Option("--set"), "'host.mtu' does not have the form NAME=VALUE")
    assert problem.fix == "write KEY=VALUE, for example --set host.post-cost=750ns"


def test_a_scenario_says_them_as_the_command_line_does() -> None:
    assert texts({"a": True, "b": False, "c": 1, "d": 0.5, "e": "64us"}) == {
        "a": "yes",
        "b": "no",
        "c": "1",
        "d": "0.5",
        "e": "64us",
    }


def test_the_model_reads_them_as_the_engine_does() -> None:
    assert post_cost_ps({"host.post-cost": "1.5us"}) == 1_500_000
    assert post_cost_ps({"host.post-cost": "1S"}) == 10**12
    assert payload_bytes({"host.mtu": "4K"}) == payload_bytes({}) == 4096
    assert packets_acknowledged({"host.ack-every": "16"}) == 16
    for read, name, text in (
        (post_cost_ps, "host.post-cost", "soon"),
        (payload_bytes, "host.mtu", "long"),
        (packets_acknowledged, "host.ack-every", "often"),
    ):
        with pytest.raises(InputError, match=f"--set: {name}: '{text}' is not") as error:
            read({name: text})
        assert error.value.problems[0].place == Option("--set", part=(name,))


@pytest.mark.parametrize(
    ("name", "texts"), [("host.post-cost", ("10us", "0.00001S", ".01ms")), ("host.mtu", ("1024", "1K", "1KiB"))]
)
def test_every_spelling_that_the_engine_takes_has_the_same_answer(name: str, texts: tuple[str, ...]) -> None:
    found = [predict(LAB, "all-reduce", MIB, settings={name: text}) for text in texts]
    assert len({(one.time_ps, one.load, one.choice) for one in found}) == 1


def test_a_queue_pair_count_that_is_given_wins() -> None:
    """``qps`` over NCCL's own parameter, and that over one for each path color; a wrong one is told all the same."""
    key = "NCCL_IB_QPS_PER_CONNECTION"
    flows = {len(predict(LAB, "all-to-all", MIB, qps=2, nccl=nccl).flows) for nccl in ({}, {key: "3"})}
    assert len(flows) == 1
    assert len(predict(LAB, "all-to-all", MIB, nccl={key: "2"}).flows) in flows
    with pytest.raises(InputError, match=f"{key} cannot be 'x'"):
        predict(LAB, "all-to-all", MIB, qps=2, nccl={key: "x"})


def test_comparing_keeps_what_is_given() -> None:
    asked = variants(LAB, "NCCL_STEPS=4,8", {"nccl": {"NCCL_BUFFSIZE": "8M", "NCCL_STEPS": "16"}})
    given = [one.question.scenario.traffic[0].nccl for one in asked]
    assert given == [{"NCCL_BUFFSIZE": "8M", "NCCL_STEPS": "4"}, {"NCCL_BUFFSIZE": "8M", "NCCL_STEPS": "8"}]


@pytest.mark.parametrize(("name", "library"), [("h100-rlb", "NCCL"), ("mi300x-leaf-24", "RCCL")])
def test_the_library_is_that_of_the_vendor_of_the_gpus(name: str, library: str) -> None:
    network = example(name)
    assert job_of(network, wire(network))[0].library == library


def test_queue_pairs_are_the_fabric_files_where_nothing_is_asked(tmp_path: Path) -> None:
    text = (EXAMPLES / "h100-rlb.yaml").read_text() + "hosts: {job: {qps_per_connection: 2}}\n"
    said, _ = designed(tmp_path, text)

    def pairs(network: Network, qps: int | None = None) -> int:
        found = predict(network, "all-gather", MIB, qps=qps)
        assert found.measured is not None
        return int(found.measured.traffic.data.sum())

    assert pairs(said) == pairs(LAB, 2) < pairs(LAB) == pairs(said, 4)
