"""Runs laid beside a network: NICs found by GIDs, links of pinned paths, predictions made now with the simulator's account."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.validation.published import FOLDER

from railweave.api import bench_compare, bench_import, bench_report
from railweave.model.network.model import Network
from railweave.operations.bench.comparing.predicting import predictions, question_of
from railweave.operations.bench.comparing.reported import located
from railweave.operations.bench.comparing.rows import pairs_of
from railweave.operations.bench.page import bench_html
from railweave.operations.store.records import Environment, Run, Sample
from tests.conftest import example
from tests.operations.bench import made

MIB = 1 << 20


def addresses(network: Network, server: str) -> list[str]:
    return [one.address for one in network.server(server).nics[0].addresses]


def test_a_run_that_only_prints_gids_is_found_in_the_network() -> None:
    network = example("h100-rlb")
    gids = (("local GID", addresses(network, "H100-01")[1]), ("remote GID", addresses(network, "H100-03")[1]))
    run = made.pair(1, "", "", 390.0)
    run = replace(run, settings=gids)
    told = located([run], network)
    (pair,) = pairs_of([run], told)
    assert (pair.src, pair.dst, pair.color) == ("H100-01:gpu0_eth", "H100-03:gpu0_eth", "blue")
    assert pair.leaves == ("stripe1-leaf1", "stripe2-leaf1")
    assert len(pair.links) == 4
    assert pair.links[1].startswith("stripe1-leaf1:et-0/0/1:0--spine2:")
    cables = {cable.name for cable in network.cables}
    assert set(pair.links) <= cables


def test_what_a_run_says_itself_stays() -> None:
    network = example("h100-rlb")
    run = made.pair(1, "H100-01:gpu0_eth", "H100-03:gpu0_eth", 390.0, color="red", links="a:1--b:2")
    (pair,) = pairs_of([run], located([run], network))
    assert (pair.color, pair.links) == ("red", ("a:1--b:2",))


@pytest.mark.parametrize(
    "settings",
    [
        (),
        (("local GID", "not an address"), ("remote GID", "fe80::1")),
        (("client", "H100-01:gpu0_eth"), ("server", "H100-99:gpu0_eth")),
        (("client", "H100-01:gpu0_eth"), ("server", "H100-01:gpu0_eth")),
        (("client", "H100-01:gpu0_eth"), ("server", "H100-03:gpu3_eth"), ("color", "mauve")),
    ],
)
def test_odd_runs_are_nowhere_or_without_links(settings: tuple[tuple[str, str], ...]) -> None:
    run = made.run("perftest", "x", settings=settings)
    told = located([run], example("h100-rlb"))
    assert not told.get(run.id, {}).get("links")
    assert predictions([run], example("h100-rlb")) == ({}, [])


def collective(qps: int, rate: float) -> Run:
    """An all-reduce of 256 MiB on all four servers, of which nothing was predicted."""
    run = made.collective(qps, [(256 * MIB, rate)])
    hosts = ("H100-01", "h100-03.gpu.example.net", "H100-02", "H100-04")
    chosen = (("NCCL_ALGO", "Ring"), ("NCCL_DEBUG", "INFO"))
    variables = (("NCCL_IB_QPS_PER_CONNECTION", str(qps)), ("NCCL_IB_SPLIT_DATA_ON_QPS", "1"), *chosen)
    return replace(run, hosts=hosts, predictions=(), environment=Environment(variables=variables))


@pytest.mark.slow
def test_one_queue_pair_shares_an_uplink_expect_half() -> None:
    network = example("h100-rlb")
    one, four = collective(1, 60.0), collective(4, 100.0)
    found, notes = predictions([one, four], network)
    assert notes == []
    slow, fast = (next(iter(found[run.id].rows.values())) for run in (one, four))
    assert "Queue pairs share an uplink" in slow[1][0]
    assert "expect half" in slow[1][0]
    assert not any("share an uplink" in sentence for sentence in fast[1])
    assert fast[0].value > 1.5 * slow[0].value
    assert slow[0].low <= slow[0].value <= slow[0].high


def test_a_network_of_other_servers_predicts_nothing(tmp_path: Path) -> None:
    run = replace(collective(1, 60.0), hosts=("elsewhere-1", "elsewhere-2"))
    reason = "the design has no server called elsewhere-1, elsewhere-2 (its first is H100-01): give the servers the same names in the fabric file"
    assert predictions([run], example("h100-rlb")) == ({}, [f"{run.id}: {reason}"])
    unnamed = replace(run, hosts=())
    assert predictions([unnamed], example("h100-rlb"))[1][0].endswith(
        "its output names no servers, so it cannot be compared with a design"
    )
    samples = (Sample("all-reduce", None, "", "average_busbw_gbytes_per_s", 1.0, 1, (("qps", "4"), ("nodes", "2"))),)
    assert predictions([made.run("table", "x", samples=samples)], example("h100-rlb")) == ({}, [])


def test_the_gpus_that_ran_are_predicted_not_all_of_the_servers(tmp_path: Path) -> None:
    """Two ranks of one GPU each get what one NIC carries, 50 GB/s: not what eight carry."""
    network, store = example("h100-rlb"), tmp_path / "two.db"
    bench_import([Path(__file__).parent / "fixtures/job-two-tests-with-log.txt"], store, fabric=network)
    found = bench_report(store, fabric=network).predicted
    assert found.good
    rates = [row.before for row in found.rows if row.key.quantity == "busbw_gbytes_per_s"]
    assert rates
    assert all(one is not None and 35 < one < 50 for one in rates)
    assert not [note for note in found.notes if "GPU" in note]


def test_a_report_says_that_other_gpus_ran_than_designed(tmp_path: Path) -> None:
    """By the model of the hosts that ran; hosts that the design lacks are not compared."""
    text = (Path(__file__).parent / "fixtures/job-two-tests-with-log.txt").read_text()
    of_a100 = tmp_path / "a100.txt"
    of_a100.write_text(text.replace("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"))
    network, store = example("h100-rlb"), tmp_path / "two.db"
    bench_import([of_a100], store, fabric=network)
    report, compared = bench_report(store, fabric=network), bench_compare(store, predicted=True, fabric=network)
    for notes in (report.notes, compared.notes):
        (said,) = [note for note in notes if "A100-SXM4-80GB" in note]
        assert "have H100: correct `model:`" in said
    assert not [note for note in bench_report(store, fabric=example("sonic-mi355x")).notes if "A100" in note]


@pytest.mark.parametrize(
    ("ranks", "settings", "options"),
    [
        (4, (), {"gpus": 1, "per_host": 1}),
        (32, (("nThread", "1"), ("nGpus", "8")), {"gpus": 8, "per_host": 1}),
        (32, (("nThread", "2"), ("nGpus", "2")), {"gpus": 8, "per_host": 2}),
        (32, (("nThread", "1"), ("nGpus", "3")), {"gpus": 8, "per_host": 8}),
    ],
)
def test_gpus_and_processes_follow_from_ranks(
    ranks: int, settings: tuple[tuple[str, str], ...], options: dict[str, int]
) -> None:
    run = replace(collective(4, 90.0), ranks=ranks, settings=settings)
    asked = question_of(run, run.samples[0], example("h100-rlb"))
    assert asked is not None
    assert {name: value for name, value in asked[2] if name in options} == options


@pytest.mark.parametrize(
    ("ranks", "said"), [(6, "unlike numbers of ranks"), (64, "16 GPUs are requested of a server that has 8")]
)
def test_ranks_that_servers_cannot_have_are_refused_in_words(ranks: int, said: str) -> None:
    found, (note,) = predictions([replace(collective(4, 90.0), ranks=ranks)], example("h100-rlb"))
    assert found == {}
    assert said in note


@pytest.mark.slow
def test_table_12_beside_its_prediction(tmp_path: Path) -> None:
    """Each published row with its own number of queue pairs, and the simulator's account of the one that is half of the others."""
    table = FOLDER / "t000_table12_busbw.csv"
    if not table.exists():
        pytest.skip("the published rows are not here")
    network, store = example("h100-rlb"), tmp_path / "t12.db"
    bench_import([table], store, fabric=network)
    report = bench_report(store, fabric=network)
    found = report.predicted
    rows = {dict(row.key.labels)["row_id"]: row for row in found.rows}
    assert found.good
    assert len(rows) >= 7
    assert rows["t12-4u-4q-ar"].ratio == pytest.approx(1.0, abs=0.03)
    assert "expect half" in rows["t12-4u-1q-ar"].likely[0]
    page = bench_html(report)
    assert "t12-4u-1q-ar" in page
    assert "386.8" in page
