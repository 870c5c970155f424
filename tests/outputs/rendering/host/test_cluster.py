"""hostfile and mpirun.sh: the commands that come out, for both versions of Open MPI."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.model.network.model import Network
from railweave.outputs.rendering.host.cluster import cluster_files
from tests.conftest import designed, example
from tests.outputs.rendering.host.stand_ins import Machine


def of_version(folder: Path, version: int, **models: str) -> Network:
    """Servers by name (or range of names), with their models."""
    servers = ", ".join(f'{{names: "{names}", model: {model}}}' for names, model in models.items())
    text = f"""
name: small
fabrics:
  backend:
    topology: {{stripes: 1, spines: 4, link_speed: 400G}}
    leaf: {{device: qfx5240-64od, release: 25.4R1}}
servers: [{servers}]
hosts: {{job: {{mpi_version: {version}}}}}
"""
    return designed(folder, text)[0]


def command(machine: Machine, *arguments: str) -> list[str]:
    done = machine.run(machine.folder / "files" / "mpirun.sh", "--dry-run", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return [word for word in shlex.split(done.stdout) if word != "--allow-run-as-root"]


def after(words: list[str], option: str) -> list[str]:
    """What every occurrence of an option is given."""
    return [words[index + 1] for index, word in enumerate(words[: words.index("--")]) if word == option]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("name", ["h100-rlb", "mi300x-leaf-24"])
def test_every_server_is_listed_once(name: str) -> None:
    # The guide's own hostfile lists host2 twice (section 8.7.2).
    network = example(name)
    lines = [line.split() for line in cluster_files(network)["hostfile"].splitlines() if not line.startswith("#")]
    assert lines == [[server.name, "slots=8"] for server in network.servers]


@pytest.mark.parametrize(("version", "left_out"), [(4, "^vader,tcp,openib,uct"), (5, "^sm,tcp,uct")])
def test_versions_of_open_mpi(machine: Machine, tmp_path: Path, version: int, left_out: str) -> None:
    machine.write(cluster_files(of_version(tmp_path, version, **{"n[1-3]": "mi300x-8gpu-thor2"})))
    words = command(machine)
    assert words[0] == "/opt/AMD/install/mpi/bin/mpirun"
    assert after(words, "-np") == ["24"]
    assert after(words, "--map-by") == ["ppr:8:node"]
    assert after(words, "--bind-to") == ["none"]
    assert after(words, "--prefix") == ["/opt/AMD/install/mpi"]
    assert after(words, "--hostfile") == [str(machine.folder / "files" / "hostfile")]
    start = words.index("--mca")
    assert words[start : start + 9] == ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "btl", left_out]
    assert "spml" not in words
    assert words[-15:] == shlex.split("railweave host env -- all_reduce_perf -b 8 -e 16G -f 2 -g 1 -c 0")


def test_choices(machine: Machine) -> None:
    machine.write(cluster_files(example("h100-rlb")))
    words = command(
        machine, "--hosts", "2", "--per-host", "1", "--launcher", "python3 /opt/rw.pyz env", "alltoall_perf"
    )
    assert words[0] == "mpirun"
    assert after(words, "-np") == ["2"]
    assert after(words, "--map-by") == ["ppr:1:node"]
    assert words[-15:] == shlex.split("python3 /opt/rw.pyz env -- alltoall_perf -b 8 -e 16G -f 2 -g 8 -c 0")
    own = command(machine, "--", "/opt/my test", "--hosts", "a b")
    assert own[own.index("--") + 1 :] == ["/opt/my test", "--hosts", "a b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hosts", "5"], "lists 4 servers, not 5"),
        (["--hosts", "0"], "takes a number from 1"),
        (["--per-host", "3"], "cannot share 8 GPUs"),
        (["--hosts"], "needs a value"),
        (["--nonsense"], "unknown option"),
        (["--hostfile", "/nowhere"], "cannot read /nowhere"),
    ],
)
def test_wrong_use_is_refused(machine: Machine, arguments: list[str], message: str) -> None:
    machine.write(cluster_files(example("h100-rlb")))
    done = machine.run(machine.folder / "files" / "mpirun.sh", "--dry-run", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_it_runs_mpirun(machine: Machine) -> None:
    machine.write(cluster_files(example("h100-rlb")))
    assert "there is no mpirun" in machine.run(machine.folder / "files" / "mpirun.sh").stderr
    machine.tool("mpirun")
    assert machine.run(machine.folder / "files" / "mpirun.sh", "--hosts", "1").returncode == 0
    (call,) = machine.calls()
    assert "-np 8" in call
    assert call.endswith("railweave host env -- all_reduce_perf -b 8 -e 16G -f 2 -g 1 -c 0")


def test_servers_of_two_libraries_are_two_jobs(machine: Machine, tmp_path: Path) -> None:
    models = {"n1": "h100-8gpu-cx7", "n2": "mi300x-8gpu-thor2", "n3": "h100-8gpu-cx7"}
    machine.write(cluster_files(of_version(tmp_path, 5, **models)))
    files = machine.folder / "files"
    assert {file.name for file in files.iterdir()} == {
        "hostfile.nccl",
        "mpirun-nccl.sh",
        "hostfile.rccl",
        "mpirun-rccl.sh",
        "tuner-nccl.json",
    }
    for library, names, program in (
        ("nccl", ["n1", "n3"], "mpirun"),
        ("rccl", ["n2"], "/opt/AMD/install/mpi/bin/mpirun"),
    ):
        lines = (files / f"hostfile.{library}").read_text().splitlines()
        assert [line.split()[0] for line in lines if not line.startswith("#")] == names
        done = machine.run(files / f"mpirun-{library}.sh", "--dry-run")
        words = shlex.split(done.stdout)
        assert words[0] == program
        assert after(words, "-np") == [str(8 * len(names))]
        assert after(words, "--hostfile") == [str(files / f"hostfile.{library}")]
        assert f"default: hostfile.{library} beside" in machine.run(files / f"mpirun-{library}.sh", "--help").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n1\nn2\n", "no slots=8, or as many GPUs as it has, behind n1"),
        ("n1 slots=8\n\nn2 max_slots=8\n", "behind n2 max_slots=8"),
        ("n1 # slots=8\n", "behind n1 # slots=8"),
        ("# n1 slots=8\n", "lists no server"),
        ("", "lists no server"),
    ],
)
def test_a_hostfile_that_says_too_little_is_refused(machine: Machine, text: str, message: str) -> None:
    machine.write({**cluster_files(example("h100-rlb")), "mine": text})
    done = machine.run(
        machine.folder / "files" / "mpirun.sh", "--dry-run", "--hostfile", str(machine.folder / "files/mine")
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_hostfile_of_ones_own(machine: Machine) -> None:
    text = "# all of them: slots=8\nn1 slots=8\n  #n2 slots=8\nn3  max_slots=9 slots=8\n"
    machine.write({**cluster_files(example("h100-rlb")), "mine": text})
    assert after(command(machine, "--hostfile", str(machine.folder / "files/mine")), "-np") == ["16"]


def test_no_servers_no_files() -> None:
    assert cluster_files(replace(example("h100-rlb"), servers=())) == {}
