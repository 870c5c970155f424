"""Jobs on racks that are NVLink domains: NCCL takes a domain for one server, and so do predictions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import railweave
from railweave.errors import InputError
from railweave.model.network.model import Network
from railweave.prediction.collectives.channels import channel_count, channel_nics
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job, Nic, Server, gpu_link
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.simulation.conditions import bed_of
from tests.conftest import designed
from tests.model.network.test_nvlink import FABRIC


@cache
def racks() -> Network:
    with TemporaryDirectory() as folder:
        return designed(Path(folder), FABRIC.format(more=""))[0]


def domain(trays: int, gpu: str = "GB200", rate_mbps: int = 400_000, nics_of_gpu: int = 1) -> Server:
    nics = tuple(Nic(f"t{tray}n{rail}", rail, rate_mbps) for tray in range(trays) for rail in range(4 * nics_of_gpu))
    nearest = tuple(nics_of_gpu * number for number in range(4 * trays))
    members = tuple(f"tray{tray}" for tray in range(trays))
    return Server("rack", nics, nearest, gpu, link=gpu_link(gpu), members=members)


def test_a_job_has_a_server_for_each_domain() -> None:
    job = bed_of(racks(), processes=2).job
    assert [(server.name, server.gpus, len(server.nics)) for server in job.servers] == [
        ("stripe1-domain1", 72, 72), ("stripe1-domain2", 72, 72), ("stripe2-domain1", 72, 72),
    ]  # fmt: skip
    assert job.machines == tuple(server.name for server in racks().servers)
    assert (job.gpus_per_machine, job.gpus_per_process) == (4, 2)
    assert job.servers[0].nearest == tuple(range(72))


def test_one_tray_of_each_rack_is_a_plain_server() -> None:
    job = bed_of(racks(), order="a-01,a-19,b-01").job
    assert [server.name for server in job.servers] == ["a-01", "a-19", "b-01"]
    assert job.machines_per_server == 1


def test_domains_of_different_sizes_are_refused_with_the_servers_to_leave_out() -> None:
    with pytest.raises(InputError) as error:
        bed_of(racks(), order="a-[01-20]")
    assert "stripe1-domain2 with 2, stripe1-domain1 with 18" in str(error.value)
    assert "leave out a-19, a-20" in str(error.value)
    with pytest.raises(InputError, match="leave out a-18, a-36"):
        bed_of(racks(), order="a-[01-36],b-[01-17]")


def test_a_domain_that_ranks_divide_is_refused() -> None:
    with pytest.raises(InputError, match="not next to each other: a-01, a-02"):
        bed_of(racks(), order="a-01,a-19,a-02,a-20")


def test_stripes_alternate_by_domain() -> None:
    names = bed_of(racks(), order="stripes-alternate").job.machines
    assert [names[0], names[18], names[36]] == ["a-01", "b-01", "a-19"]


def test_nvlink_limits_the_channels_of_a_domain() -> None:
    """By hand: NCCL counts 721.8 GB/s; 16 channels of 45.1 are the most of its speeds, on 16 of 72 NICs."""
    for gpu, rate in (("GB200", 400_000), ("GB300", 800_000)):
        job = Job((domain(18, gpu, rate),) * 2)
        assert (channel_nics(job), channel_count(job, parameters())) == (16, 32)
    assert channel_nics(Job((domain(2),) * 2)) == 8  # fewer NICs than NVLink could feed
    assert channel_count(Job.of_servers(2), parameters()) == 16


def test_all_to_all_sends_from_the_own_tray_and_uses_both_nics_of_a_gpu() -> None:
    job = Job((domain(18, "Rubin", 800_000, 2),) * 2)
    assert (job.nics_per_gpu, job.nics_per_machine) == (2, 8)
    found = program(job, "all-to-all", 64 << 20)
    assert {int(nic) for nic in found.connections[:, 0]} == set(range(2 * 144))
    rails = found.connections[:, :2] % 8
    assert (rails[:, 0] == rails[:, 1]).all()


def test_a_prediction_says_what_was_compared() -> None:
    (inside,) = railweave.simulate(racks(), "all-reduce", "4G", hosts="a-[01-18]").steps
    assert inside.prediction.band is not None
    assert "published results of NCCL's all-reduce" in inside.prediction.band.compared
    assert inside.prediction.band.outside == ""
    (apart,) = railweave.simulate(racks(), "all-gather", "64M", hosts="a-[01-36]", engine="flow").steps
    assert apart.prediction.band is not None
    assert not apart.prediction.band.known
    assert "all-gather between NVLink domains was not compared" in apart.prediction.band.outside


SCENARIO = """
name: trays
traffic: [{{collective: all-reduce, size: 4G, repeat: {repeat}}}]
{faults}
"""
FAULT = "  - {{at: {at}, kind: nvlink-switch-down, domain: {domain}{more}}}"


def scenario(folder: Path, *faults: str, repeat: int = 1) -> Path:
    file = folder / "trays.yaml"
    file.write_text(SCENARIO.format(repeat=repeat, faults="\n".join(["faults:", *faults]) if faults else ""))
    return file


def times(folder: Path, *faults: str, repeat: int = 1, hosts: str = "a-[01-18]") -> list[float]:
    file = scenario(folder, *faults, repeat=repeat)
    steps = railweave.simulate(racks(), scenario=file, hosts=hosts, engine="flow").steps
    return [step.prediction.time_ps / 1e6 for step in steps]


def test_a_switch_tray_carries_a_ninth_of_nvlink(tmp_path: Path) -> None:
    """By hand: 8.4 us to begin, 142 steps of 3.4 us, and 4 GiB x 142/72 at 855 GB/s, of which 8/9 or 7/9 are left."""
    moved = (4 << 30) * 142 / 72 / 855e3
    one = FAULT.format(at="0us", domain="stripe1-domain1", more="")
    other = FAULT.format(at="0us", domain="stripe1-domain2", more="")
    for faults, left in (((), 1), ((one,), 8 / 9), ((one, one), 7 / 9), ((other,), 1)):
        assert times(tmp_path, *faults) == [pytest.approx(8.4 + 142 * 3.4 + moved / left, rel=1e-4)]


def test_it_counts_from_the_next_collective_on_until_it_returns(tmp_path: Path) -> None:
    whole, *_ = times(tmp_path)
    fault = FAULT.format(at="1us", domain="stripe1-domain1", more=f", until: {1.5 * whole}us")
    before, during, after = times(tmp_path, fault, repeat=3)
    assert before == after == whole
    assert during > 1.1 * whole


@pytest.mark.parametrize(
    ("domain", "noted"), [("stripe1-domain9", "did you mean stripe1-domain2?"), ("r1", "there are")]
)
def test_an_unknown_domain_is_refused_with_its_line(domain: str, noted: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no NVLink domain") as error:
        times(tmp_path, FAULT.format(at="0us", domain=domain, more=""))
    assert noted in str(error.value)
    assert "trays.yaml:5: " in str(error.value)


def test_a_dead_tray_or_nic_ends_the_job(tmp_path: Path) -> None:
    for fault in ("{at: 0us, kind: device-down, device: a-01}", "{at: 0us, kind: nic-down, nic: a-01:gpu0_eth}"):
        file = scenario(tmp_path, f"  - {fault}")
        file.write_text(file.read_text().replace("4G", "16M"))
        assert not railweave.simulate(racks(), scenario=file, hosts="a-[01-36]", engine="flow").complete
