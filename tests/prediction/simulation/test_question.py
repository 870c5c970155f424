"""Questions from options and scenario files: faults, traffic of others, jobs, exported tables, comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import railweave
from railweave.analysis.routing.fib_file import read_fibs, write_fibs
from railweave.api.predicting import simulate_variants
from railweave.errors import FileLine, InputError, Option
from railweave.prediction.simulation.collective import job_links
from railweave.prediction.simulation.compare import comparison
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.job import job_network
from railweave.prediction.simulation.job_run import JobPrediction
from railweave.prediction.simulation.model.outages import Outage, timeline
from railweave.prediction.simulation.reasons import reasons
from railweave.prediction.simulation.varied import values_of, variants
from tests.conftest import SMALL as EXAMPLE_NAMES
from tests.conftest import designed, example

MIB = 1 << 20

OWN_SERVERS = """
name: own-servers
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: qfx5240-64od}
  front:
    nics: frontend
    naming: {leaf: "front{number}"}
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: qfx5220-32cd, server_ports: {breakout: 1x100G}}
    pools: {router_id: 10.254.0.0/24}
    addressing: {server_pool: "fd02::/16"}
servers: [{names: "gpu-[1-2]", model: ours}]
hardware: {servers: {ours: {extends: dgx-h100-aidc}}}
management: {root_password: secret:root, users: {ops: {role: super-user, password: secret:ops}}}
"""
SMALL: dict[str, Any] = {"collective": "all-reduce", "size": 8 * MIB, "qps": 4, "watch": False}


def told(folder: Path, text: str) -> Path:
    path = folder / "case.yaml"
    path.write_text(text)
    return path


def run(folder: Path, text: str, **options: Any) -> JobPrediction:
    step = "traffic: [{collective: all-reduce, size: 8M, qps: 4}]\n"
    return railweave.simulate(example("h100-rlb"), scenario=told(folder, step + text), watch=False, **options)


@pytest.fixture(scope="module")
def plain() -> JobPrediction:
    return railweave.simulate(example("h100-rlb"), **SMALL)


# Routes of 32,768 GPUs take minutes: those two are predicted by hand (docs/architecture.md).
NAMES = [*EXAMPLE_NAMES, pytest.param("scale-8k", marks=pytest.mark.scale)]


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_predicted(name: str) -> None:
    tenant = "tenant-1" if name.startswith(("evpn-", "multitenancy-")) else None
    fabric = {"aidc-three-fabrics": "backend2", "frontend-mixed": "frontend"}.get(name)
    hosts = "H100-[01-04]" if name == "frontend-mixed" else None
    found = railweave.simulate(example(name), "all-gather", 2 * MIB, tenant=tenant, fabric=fabric, hosts=hosts)
    assert found.complete
    assert found.time_ps > 0
    assert len(found.links["utilisation"]) == len(found.links["link"])
    assert 0 < max(found.links["utilisation"]) <= 1


def test_a_job_on_own_server_models_runs_on_the_fabric_of_their_gpus(tmp_path: Path) -> None:
    network = designed(tmp_path, OWN_SERVERS)[0]
    assert [one.name for one in job_network(network).fabrics] == ["backend"]
    assert bed_of(job_network(network)).job.ranks == 16
    found = railweave.simulate(network, "all-reduce", MIB, engine="flow", watch=False)
    assert found.complete


def test_a_job_runs_on_one_of_several_fabrics() -> None:
    """A100 and H100 GPUs are on fabrics of their own; storage and frontend NICs carry no collective unless asked for."""
    network = example("aidc-three-fabrics")
    with pytest.raises(InputError, match="2 fabrics connect GPUs") as caught:
        railweave.simulate(network, "all-reduce", MIB)
    assert "backend1, backend2" in str(caught.value)
    with pytest.raises(InputError, match="there is no fabric 'backend3'"):
        railweave.simulate(network, "all-reduce", MIB, fabric="backend3")
    part = job_network(network, "backend1")
    assert {server.model for server in part.servers} == {"dgx-a100-aidc"}
    assert {nic.fabric for server in part.servers for nic in server.nics} == {"backend1"}
    assert job_network(example("h100-rlb")) is example("h100-rlb")


def test_a_spine_that_dies_under_a_collective_costs_a_timeout(tmp_path: Path, plain: JobPrediction) -> None:
    fault = "reroute: 1ms\nfaults: [{at: 30us, kind: device-down, device: spine1}]\n"
    found = run(tmp_path, fault)
    prediction = found.steps[0].prediction
    assert found.complete
    assert prediction.counters is not None
    assert prediction.counters["timeouts"] > 0
    assert found.time_ps > plain.time_ps + 3 * 10**9, "host.timeout is 4 ms"
    assert prediction.counters["dropped_link_down"] > 0


@pytest.mark.parametrize(
    ("fault", "sign"),
    [
        ("{at: 0us, kind: link-lossy, link: stripe1-leaf1--spine1, loss: 20%}", "dropped_lost_on_wire"),
        ("{at: 30us, for: 3ms, kind: blackhole, device: spine1}", "dropped_no_route"),
        ("{at: 30us, for: 300us, kind: nic-down, nic: 'H100-01:gpu0_eth'}", "dropped_link_down"),
        ("{at: 30us, for: 300us, kind: device-reboot, device: spine1}", "dropped_link_down"),
        ("{at: 0us, kind: link-slow, link: stripe1-leaf1--spine1, rate: 1G}", None),
        ("{at: 0us, for: 1ms, kind: pfc-storm, nic: 'H100-01:gpu0_eth'}", None),
        ("{at: 0us, for: 1ms, kind: slow-receiver, nic: 'H100-01:gpu0_eth', rate: 1G}", None),
        ("{at: 30us, kind: link-flap, link: stripe1-leaf1--spine1, period: 100us, count: 2}", "dropped_link_down"),
    ],
)
def test_every_fault_shows(fault: str, sign: str | None, tmp_path: Path, plain: JobPrediction) -> None:
    found = run(tmp_path, f"reroute: 500us\nfaults: [{fault}]\n")
    assert found.complete
    assert found.time_ps > plain.time_ps
    counters = found.steps[0].prediction.counters
    assert sign is None or (counters is not None and counters[sign] > 0)


@pytest.mark.parametrize(
    "fault", ["kind: bgp-session-down, device: spine1, neighbor: stripe1-leaf1", "kind: bgp-down, device: spine1"]
)
def test_a_session_that_ends_moves_traffic_and_drops_nothing(fault: str, tmp_path: Path, plain: JobPrediction) -> None:
    found = run(tmp_path, f"reroute: 0us\nfaults: [{{at: 0us, {fault}}}]\n")

    def sent(job: JobPrediction, spine: str) -> float:
        links = job.links
        ends = zip(links["from"], links["to"], links["tx_bytes"], strict=True)
        return sum(size for near, far, size in ends if (near, far) == ("stripe1-leaf1", spine))

    assert sent(plain, "spine1") > 0
    assert sent(found, "spine1") == 0
    counters = found.steps[0].prediction.counters
    assert counters is not None
    assert counters["dropped_no_route"] == counters["dropped_link_down"] == 0


def test_background_takes_its_share_in_packets_of_its_own(plain: JobPrediction) -> None:
    loaded = railweave.simulate(
        example("h100-rlb"), **SMALL | {"watch": True}, background="share=30%,qps=2,packet=9000,ports=*:gpu0_eth"
    )
    assert loaded.time_ps > plain.time_ps
    rates = {name: np.array(column) for name, column in loaded.rates.items()}
    others = rates["background"]
    assert set(rates["src"][others]) == {f"H100-0{server}:gpu0_eth" for server in range(1, 5)}
    before = (rates["time_us"] < 20) & others  # the job has not begun
    every = loaded.steps[0].prediction.measured
    assert every is not None
    carried = rates["delivered_bytes"][before].sum() * 8e-3 / rates["time_us"][before].max() / 4
    assert 0.2 * 400 < carried < 0.3 * 400  # Gb/s a port; the first bytes take some us to arrive
    assert (rates["delivered_bytes"][before] % 9000 == 0).all()
    assert rates["rate_gbps"][before].max() <= 60


@pytest.mark.parametrize(
    "options", [{}, {"lb": "spray"}, {"settings": {"seed": 3}, "lb": "ecmp"}, {"lb": "dlb-flowlet"}]
)
def test_what_only_others_use_binds_nothing(options: dict[str, Any]) -> None:
    """A job on two servers; the others' own cables are far busier than anything that the job uses."""
    asked = {"collective": "all-to-all", "size": "1M", "hosts": "H100-01,H100-03", "qps": 1, **options}
    there = "share=95%,qps=8,ports=H100-02:*+H100-04:*"
    loaded = railweave.simulate(example("h100-rlb"), **asked, background=there, watch=True).steps[0].prediction
    alone = railweave.simulate(example("h100-rlb"), **asked).steps[0].prediction
    assert loaded.measured is not None
    assert alone.measured is not None
    links = loaded.measured.links
    busiest = int(links["utilisation"].argmax())
    assert {"H100-02", "H100-04"} & {links[end][busiest].partition(":")[0] for end in ("from", "to")}
    assert not any(name in loaded.load.link for name in ("H100-02", "H100-04"))
    used = loaded.measured.used
    assert used is not None
    sent = alone.measured.sent_bytes
    assert sent[~used].max() < sent.max() / 20, "other links carry acknowledgements"
    if options.get("lb") != "dlb-flowlet":  # of a group of DLB any member may be taken
        assert sent[used].min() > 0
    for reason in reasons(loaded):
        assert "H100-02" not in reason
        assert "H100-04" not in reason


def test_a_link_that_the_job_shares_with_others_can_bind() -> None:
    asked = {"collective": "all-to-all", "size": "1M", "hosts": "H100-01,H100-03", "qps": 1}
    there = "share=80%,ports=H100-02:*,to=H100-03:*"
    loaded, alone = (
        railweave.simulate(example("h100-rlb"), **asked, background=one).steps[0].prediction for one in (there, None)
    )
    assert loaded.load.link_ps > 1.5 * alone.load.link_ps


def test_links_count_from_when_routes_lead_over_them() -> None:
    """Of a job that ended before routes followed a fault, the links of before count; of one that goes on, both."""
    network = example("h100-rlb")
    bed = bed_of(network)
    fabric, wiring = bed.fabric, bed.fabric.wiring
    hosts = bed.hosts.reshape(4, 8)
    pairs = fabric.addresses.pairs(hosts[0], hosts[2], np.zeros(8, np.uint32))
    outage = Outage("spine1", 10**9, None)
    after = timeline(wiring, bed.plane, fabric.routes, [outage], 10**9, 10**9)
    ended, goes_on = (job_links(fabric, pairs, after, until, lambda given: given) for until in (10**9, 3 * 10**9))
    assert (ended <= goes_on).all()
    assert any("spine1:" in wiring.port_link(int(port)) for port in np.flatnonzero(ended))
    added = [wiring.port_link(int(port)) for port in np.flatnonzero(goes_on & ~ended)]
    assert added
    assert not any("spine1:" in name for name in added)


def test_a_job_repeats_what_is_alike_and_runs_what_is_not(tmp_path: Path) -> None:
    step = "{collective: all-reduce, size: 1M, qps: 4, compute: 50us, repeat: 3}"
    fault = "{at: 60us, kind: link-slow, link: stripe1-leaf1--spine1, rate: 1G, for: 20us}"
    path = told(tmp_path, f"traffic: [{step}]\niterations: 2\n")
    quiet = railweave.simulate(example("h100-rlb"), scenario=path, watch=False)
    assert len(quiet.steps) == 6
    assert len(quiet.own_runs()) == 1
    each = quiet.steps[0].prediction.time_ps
    assert quiet.time_ps == 6 * (each + 50 * 10**6)
    assert quiet.compute_ps == 300 * 10**6
    assert [one.at_ps for one in quiet.steps[:2]] == [50 * 10**6, 100 * 10**6 + each]
    path = told(tmp_path, f"traffic: [{step}]\niterations: 2\nfaults: [{fault}]\n")
    hurt = railweave.simulate(example("h100-rlb"), scenario=path, watch=False)
    assert len(hurt.own_runs()) == 2
    assert hurt.to_json()["job_completion_time_us"] == hurt.time_ps / 1e6


def test_watching_changes_no_result(plain: JobPrediction) -> None:
    watched = railweave.simulate(example("h100-rlb"), **SMALL | {"watch": True})
    first, second = (job.steps[0].prediction.counters for job in (plain, watched))
    assert first == second
    assert {len(column) for column in watched.series.values()} == {len(watched.series["time_us"])}
    assert not plain.series


def test_exported_tables_give_the_same_run(tmp_path: Path, plain: JobPrediction) -> None:
    routes = railweave.routes(example("h100-rlb"))
    write_fibs(routes, tmp_path / "fibs.json")
    again = read_fibs(tmp_path / "fibs.json", example("h100-rlb"), routes.prefixes)
    for device in routes.fibs:
        for prefix in routes.prefixes:
            assert again.next_hops(device, prefix) == routes.next_hops(device, prefix)
            assert again.is_local(device, prefix) == routes.is_local(device, prefix)
    found = railweave.simulate(example("h100-rlb"), **SMALL, fib=tmp_path / "fibs.json")
    assert found.steps[0].prediction.counters == plain.steps[0].prediction.counters


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (('"railweave-fib-1"', '"other"'), "not a file of the form"),
        (('"spine1": {', '"spine9": {'), "devices: spine1 is missing"),
        (("stripe1-leaf1:et-0/0/0:0--", "stripe1-leaf1:et-9/9/9:0--"), "there is no link"),
        (('"groups"', "groups"), "not JSON"),
    ],
)
def test_mistakes_in_exported_tables(change: tuple[str, str], what: str, tmp_path: Path) -> None:
    path = tmp_path / "fibs.json"
    write_fibs(railweave.routes(example("h100-rlb")), path)
    assert change[0] in path.read_text()
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(InputError, match=what):
        railweave.simulate(example("h100-rlb"), **SMALL, fib=path)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("overrides:\n  lb: magic\n", 3, "'magic' is not a mode"),
        ("overrides:\n  set:\n    host.mtuu: 1\n", 4, "host.mtuu"),
        ("overrides:\n  nccl:\n    NCCL_BUFSIZE: 1\n", 4, "NCCL_BUFSIZE"),
        ("overrides:\n  nccl:\n    NCCL_NTHREADS: 64\n    NCCL_STEPS: 5\n", 5, "NCCL_STEPS 5"),
        ("overrides:\n  set:\n    dlb.period: 1us\n    dlb.min: 95%\n", 3, "dlb.min (95%) is not below"),
        ("background:\n  share: 10%\n  ports:\n  - H100-01:gpu0_eth\n  - H100-01:gpu9\n", 6, "'H100-01:gpu9'"),
        ("background:\n  share: 10%\n  ports: [nobody]\n", 4, "'nobody'"),
    ],
)
def test_what_the_engine_refuses_is_told_at_the_scenarios_line(text: str, line: int, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        run(tmp_path, text)
    (problem,) = caught.value.problems
    assert what in problem.what
    assert problem.place.file.endswith("case.yaml")
    assert problem.place.line == line


@pytest.mark.parametrize(
    ("text", "options", "place"),
    [
        (
            "overrides: {set: {host.mtu: 4096}}\n",
            {"settings": {"host.mtuu": "1"}},
            Option("--set", part=("host.mtuu",)),
        ),
        ("overrides: {set: {host.mtu: 4096}}\n", {"settings": {"host.mtu": "1"}}, Option("--set", part=("host.mtu",))),
        ("overrides: {set: {host.mtu: 4096}}\n", {"lb": "dlb:min=x"}, Option("--lb")),
        ("overrides: {lb: spray}\n", {"lb": "magic"}, Option("--lb")),
        (
            "overrides: {nccl: {NCCL_NTHREADS: 64}}\n",
            {"nccl": ["NCCL_NTHREADS=1"]},
            Option("--nccl", part=("NCCL_NTHREADS",)),
        ),
        (
            "background: {share: 10%, ports: ['*:gpu0_eth']}\n",
            {"background": "share=0.1,ports=*:gpu0_eth+nobody"},
            Option("--background", part=("ports", 1)),
        ),
    ],
)
def test_what_the_command_line_gave_is_not_told_of_the_scenario(
    text: str, options: dict[str, Any], place: Option, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        run(tmp_path, text, **options)
    assert [problem.place for problem in caught.value.problems] == [place]


def test_a_parameter_of_one_collective_is_told_at_its_line(tmp_path: Path) -> None:
    step = "- collective: all-reduce\n  size: 1M\n"
    path = told(tmp_path, f"traffic:\n{step}{step}  nccl:\n    NCCL_BUFSIZE: 1\n")
    with pytest.raises(InputError) as caught:
        railweave.simulate(example("h100-rlb"), scenario=path, watch=False)
    assert [problem.place for problem in caught.value.problems] == [FileLine(str(path), 7)]


def test_faults_that_flows_cannot_show_are_told_of_the_engine(tmp_path: Path) -> None:
    fault = "faults: [{at: 0us, kind: link-lossy, link: stripe1-leaf1--spine1, loss: 20%}]\n"
    with pytest.raises(InputError, match="the flow engine cannot model lost packets") as caught:
        run(tmp_path, fault, engine="flow")
    assert [problem.place for problem in caught.value.problems] == [Option("--engine")]


@pytest.mark.parametrize("text", ["share=2", "share", "share=0.1,packet=9001", "share=0.1,port=x", "share=0.1,share=1"])
def test_mistakes_in_background(text: str) -> None:
    with pytest.raises(InputError, match="--background"):
        railweave.simulate(example("h100-rlb"), **SMALL, background=text)


def test_values_to_compare() -> None:
    assert values_of("lb", "ecmp,dlb:inactivity=64us,flowsets=512,rlb") == [
        "ecmp",
        "dlb:inactivity=64us,flowsets=512",
        "rlb",
    ]
    assert values_of("background", "share=0.1,qps=2,share=0.2") == ["share=0.1,qps=2", "share=0.2"]
    assert values_of("size", "1M;2M") == ["1M", "2M"]


@pytest.mark.slow
def test_variants_run_side_by_side_and_the_best_is_named() -> None:
    given = {"collective": "all-to-all", "size": "16M", "qps": 1}
    wanted = variants(example("h100-rlb"), "lb=rlb,spray", given)
    found = comparison(example("h100-rlb"), wanted, "lb")
    alone = {value: railweave.simulate(example("h100-rlb"), **given, lb=value) for value in ("rlb", "spray")}
    assert {one.value: one.answer.time_ps for one in found.outcomes} == {
        value: one.time_ps for value, one in alone.items()
    }
    best = min(alone, key=lambda value: alone[value].time_ps)
    assert found.to_json()["winner"] == best == found.ranked[0].value
    assert found.verdict().startswith(f"lb={best} wins")


@pytest.mark.parametrize("text", ["lb", "lb=ecmp", "lb=ecmp,ecmp", "magic=1,2", "qps=a,b"])
def test_what_cannot_be_compared(text: str) -> None:
    with pytest.raises(InputError, match="--compare"):
        variants(example("h100-rlb"), text, {})


@pytest.mark.slow
def test_queue_pairs_that_do_not_matter_are_shown_where_they_do() -> None:
    """One ring crosses the spines by each leaf in the order of names; with stripes in turn, two share an uplink of one color."""
    network = example("h100-rlb")
    found = simulate_variants(network, "qps=1,4", "all-reduce", "1G")
    assert found.is_tie
    assert "--hosts stripes-alternate" in found.elsewhere
    assert found.elsewhere in found.to_text()
    rates = dict(pair.rsplit(" ", 1) for pair in found.elsewhere.rstrip(".").partition(": ")[2].split(", "))
    assert float(rates["1"]) < 0.6 * float(rates["4"])
    asked = simulate_variants(network, "qps=1,4", "all-reduce", "1G", hosts="stripes-alternate")
    assert not asked.is_tie
    assert asked.elsewhere == ""
