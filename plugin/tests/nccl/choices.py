"""Compare railweave's estimates and choices with NCCL's own search and cost model, by ``tuning`` (tuning.cc).

choices.py TUNING VERSION [--write]: TUNING is the program, VERSION that of NCCL. ``--write`` records NCCL's choices for
tests/prediction/collectives/test_nccl_choices.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from railweave.prediction.collectives.channels import channel_count
from railweave.prediction.collectives.job import Job, Nic, Server, gpu_link
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.tuning import choose, estimate_us, possible

if TYPE_CHECKING:
    from railweave.prediction.collectives.channels import Collective

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "tests/prediction/collectives/nccl_choices.json"
NEAR = 0.01
PCIE = {4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}


class Gpu(NamedTuple):
    """A GPU: compute capability, NVLinks, PCIe generation, the vendor of its CPUs, and the GPUs of a PCIe switch."""

    capability: int
    links: int
    pcie: int
    cpu: str
    per_switch: int


GPUS = {
    "A100": Gpu(80, 12, 4, "AMD", 2),
    "H100": Gpu(90, 18, 5, "Intel", 1),
    "B200": Gpu(100, 18, 5, "Intel", 1),
    "B300": Gpu(100, 18, 6, "Intel", 1),
}


class Case(NamedTuple):
    """A job: the GPU, the servers, and each server's GPUs, NICs and the rate of a NIC in Gb/s."""

    gpu: str
    servers: int
    gpus: int
    nics: int
    gbps: int

    def job(self) -> Job:
        """The job in railweave."""
        nics = tuple(Nic(f"nic{n}", n, self.gbps * 1000) for n in range(self.nics))
        nearest = tuple(gpu * self.nics // self.gpus for gpu in range(self.gpus))
        cpu = "AMD" if GPUS[self.gpu].cpu == "AMD" else "Intel"
        return Job((Server("server", nics, nearest, self.gpu, cpu, gpu_link(self.gpu)),) * self.servers)


def cases() -> list[Case]:
    """The jobs that are compared."""
    shapes = [(8, 8), (8, 4), (8, 2), (8, 1), (4, 4), (4, 2), (1, 1)]
    rates = {"A100": (100, 200), "H100": (200, 400), "B200": (200, 400), "B300": (400, 800)}
    several = [
        Case(gpu, servers, *shape, rate)
        for gpu, of_gpu in rates.items()
        for rate in of_gpu
        for shape in shapes
        for servers in (2, 4, 8)
    ]
    return several + [Case(gpu, 1, gpus, gpus, of_gpu[0]) for gpu, of_gpu in rates.items() for gpus in (2, 4, 8)]


def topology(case: Case) -> str:
    """A server as NCCL's XML: a PCIe switch for each GPU and its NIC, or for two."""
    gpu = GPUS[case.gpu]
    ids = " ".join(f'{name}="0x1"' for name in ("vendor", "device", "subsystem_vendor", "subsystem_device"))
    of_slot = f'{ids} link_speed="{PCIE[gpu.pcie]}" link_width="16"'
    vendor = (
        'vendor="GenuineIntel" familyid="6" modelid="143"'
        if gpu.cpu == "Intel"
        else 'vendor="AuthenticAMD" familyid="175" modelid="1"'
    )
    lines = ['<system version="1">']
    each = case.gpus if case.gpus <= gpu.per_switch else case.gpus // 2
    for first in range(0, case.gpus, each):
        lines.append(f'<cpu host_hash="0x1" numaid="{first // each}" affinity="ffff" arch="x86_64" {vendor}>')
        for switch in range(first, first + each, gpu.per_switch):
            members = range(switch, min(switch + gpu.per_switch, first + each))
            lines.append(f'<pci busid="0000:{16 * (switch + 1):02x}:00.0" class="0x060400" {of_slot}>')
            for member in members:
                bus = 16 * (member + 1)
                nvlink = f'<nvlink target="fffffff:ffff:ff" count="{gpu.links}" tclass="0x068000"/>'
                name = f'<gpu dev="{member}" sm="{gpu.capability}" rank="{member}" gdr="1">'
                lines.append(
                    f'<pci busid="0000:{bus + 1:02x}:00.0" class="0x030200" {of_slot}>{name}{nvlink}</gpu></pci>'
                )
                if member * case.nics % case.gpus == 0:
                    nic = member * case.nics // case.gpus
                    net = f'name="nic{nic}" dev="{nic}" speed="{case.gbps * 1000}" port="1" guid="0x{nic + 256:x}"'
                    lines.append(f'<pci busid="0000:{bus + 3:02x}:00.0" class="0x020000" {of_slot}>')
                    lines.append(f'<nic><net {net} maxconn="131072" gdr="1"/></nic></pci>')
            lines.append("</pci>")
        lines.append("</cpu>")
    return "\n".join([*lines, "</system>"])


def of_nccl(program: str, case: Case) -> list[list[str]]:
    """NCCL's lines for a job, as words."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(topology(case))
        file.flush()
        words = [program, file.name, str(case.servers), str(case.gpus), str(GPUS[case.gpu].capability)]
        done = subprocess.run(
            words, capture_output=True, text=True, check=True, env=os.environ | {"NCCL_IGNORE_DISABLED_P2P": "2"}
        )
    return [line.split() for line in done.stdout.splitlines()]


def main(program: str, version: str, *, write: bool) -> int:
    """Compare all cases, print the differences, and return how many there are."""
    nccl, differences, estimates, recorded = parameters(), 0, 0, []
    for case in cases():
        job, collectives = case.job(), {}
        channels = channel_count(job, nccl)
        for words in of_nccl(program, case):
            if words[0] == "channels" and min(int(words[1]), 32) != channels:
                differences += 1
                print(f"{case}: NCCL has {words[1]} channels, railweave {channels}")
            if "->" not in words:
                continue
            collective: Collective = words[0]  # type: ignore[assignment]
            size, arrow = int(words[1]), words.index("->")
            for word in words[2:arrow]:
                algorithm, protocol, us = word.replace("=", "/").split("/")
                if algorithm in possible(job, nccl, collective):
                    estimates += 1
                    found = estimate_us(job, nccl, collective, algorithm, protocol, size)
                    if abs(found / float(us) - 1) > NEAR:
                        differences += 1
                        print(f"{case} {collective} {size} {algorithm} {protocol}: NCCL {us} us, railweave {found:.3f}")
            choice = choose(job, nccl, collective, size, channels)
            if [choice.algorithm, choice.protocol] != words[-3:-1]:
                differences += 1
                print(
                    f"{case} {collective} {size}: NCCL takes {words[-3:]}, railweave {choice.algorithm} {choice.protocol}"
                )
            steps = collectives.setdefault(collective, [])
            if not steps or steps[-1][1:] != words[-3:-1]:
                steps.append([size, *words[-3:-1]])
        recorded.append({**case._asdict(), "choices": collectives})
    print(
        f"test-nccl: NCCL {version}: {estimates:,} estimates and the choices of {len(recorded)} jobs compared, {differences} differ"
    )
    if write:
        rows = ",\n".join(json.dumps(row) for row in recorded)
        RECORDED.write_text(f'{{"version": "{version}", "jobs": [\n{rows}\n]}}\n')
    return differences


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], sys.argv[2], write="--write" in sys.argv) else 0)
