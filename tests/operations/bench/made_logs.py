"""Logs of NCCL jobs, made: healthy ones, and ones with a planted cause, behind launchers' prefixes, cut off and interleaved."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import lru_cache

from railweave.operations.bench.triage.triage import triage_job

VERSIONS = ("2.12.12+cuda11.6", "2.18.3+cuda12.2", "2.21.5+cuda12.4", "2.27.7+cuda12.9", "2.30.7+cuda12.9")
PREFIXES = {
    "none": lambda rank, host, at: "",
    "Open MPI 4 --tag-output": lambda rank, host, at: f"[1,{rank}]<stdout>:",
    "Open MPI 4 --timestamp-output": lambda rank, host, at: f"Sun Nov  8 16:34:{at % 60:02d} 2026[1,{rank}]<stdout>:",
    "prterun": lambda rank, host, at: f"[prterun-{host}-77@1,{rank}]<stdout>: ",
    "MPICH -l": lambda rank, host, at: f"[{rank}] ",
    "srun --label": lambda rank, host, at: f"{rank}: ",
    "srun --label, wide": lambda rank, host, at: f" {rank:>2}: ",
    "torchrun": lambda rank, host, at: f"[default{rank}]:",
    "Ray": lambda rank, host, at: f"\x1b[36m(RayWorkerWrapper pid={500 + rank}, ip=10.1.0.{rank})\x1b[0m ",
    "vLLM": lambda rank, host, at: f"(Worker_TP{rank} pid={600 + rank}) ",
    "kubectl --prefix": lambda rank, host, at: f"[pod/job-worker-{rank}/trainer] ",
    "kubectl --timestamps": lambda rank, host, at: f"2026-11-08T16:34:{at % 60:02d}.123456789Z ",
    "CRI": lambda rank, host, at: f"2026-11-08T16:34:{at % 60:02d}.123456789Z stdout F ",
    "journald": lambda rank, host, at: f"Nov 08 16:34:{at % 60:02d} {host} slurmd[77]: ",
    "pdsh": lambda rank, host, at: f"{host}: ",
    "ts": lambda rank, host, at: f"Nov 08 16:34:{at % 60:02d} ",
    "GitHub": lambda rank, host, at: f"train\trun\t2026-11-08T16:34:{at % 60:02d}.1234567Z ",
}


def drawn_by(number: int) -> random.Random:
    """A source of chance that gives the same log for a number."""
    return random.Random(number)  # noqa: S311


@dataclass(frozen=True)
class Job:
    """A job: its hosts in order, GPUs of each, version, and for each host the deviations of ``_lines``."""

    hosts: tuple[str, ...]
    gpus: int
    version: str
    info: bool = True


Message = tuple[int, str]
"""A rank and what it prints, without prefix."""


def _text(job: Job, rank: int, level: str, text: str) -> str:
    host, gpu = job.hosts[rank // job.gpus], rank % job.gpus
    where = "" if level == "INFO" else f"transport/net_ib.cc:{100 + rank} "
    stamp = "[2026-11-08 16:34:43] " if level == "WARN" and job.version.startswith(("2.27", "2.30")) else ""
    return f"{stamp}{host}:{2000 + rank}:{3000 + rank} [{gpu}] {where}NCCL {level} {text}"


@dataclass(frozen=True)
class Odd:
    """What one host of a job has otherwise than the others."""

    host: str = ""
    nics: int | None = None
    network: str = ""
    version: str = ""
    setting: str = ""
    mtu: int = 5
    bootstrap: str = ""
    speed: int = 400000
    gdr: bool = True
    no_device: bool = False


def healthy(job: Job, draw: random.Random, odd: Odd | None = None) -> list[list[str]]:
    """What each rank of a job prints from its start to the first collectives."""
    odd = odd or Odd()
    size = len(job.hosts) * job.gpus
    identity = f"0x{draw.getrandbits(63):x}"
    ranks: list[list[str]] = []
    for rank in range(size):
        host = job.hosts[rank // job.gpus]
        deviates = host == odd.host
        nics = odd.nics if deviates and odd.nics is not None else 4
        network = odd.network if deviates and odd.network else "IB"
        interface = odd.bootstrap if deviates and odd.bootstrap else "eno1"
        address = f"10.0.0.{rank // job.gpus + 1}"
        lines = [f"Bootstrap : Using {interface}:{address}<0>"]
        lines.append(f"NCCL version {odd.version if deviates and odd.version else job.version}")
        lines.append("NCCL_IB_TC set by environment to 106.")
        lines += [odd.setting] if deviates and odd.setting else ["NCCL_IB_QPS_PER_CONNECTION set by environment to 4."]
        lines.append("NET/Plugin : No plugin found (libnccl-net.so), using internal implementation")
        if deviates and odd.no_device:
            lines.append("NET/IB : No device found.")
        else:
            names = " ".join(f"[{nic}]mlx5_{nic}:1/RoCE" for nic in range(nics))
            for nic in range(nics):
                speed = odd.speed if deviates and nic == 0 else 400000
                lines.append(
                    f"NET/IB: [{nic}] mlx5_{nic}:uverbs{nic}:1/RoCE provider=Mlx5 speed={speed} context=0x7f{nic}0 pciPath=/sys/x ar=0 oooRqSize=0"
                )
            lines.append(f"NET/IB : Using {names} [RO]; OOB {interface}:{address}<0>")
        lines.append(f"Using network {network}")
        lines.append(
            f"ncclCommInitRank comm 0x55cc{rank:04x} rank {rank} nranks {size} cudaDev {rank % job.gpus} nvmlDev 0 busId 1c000 commId {identity} - Init START"
        )
        lines.append(
            f"comm 0x55cc{rank:04x} rank {rank} nRanks {size} nNodes {len(job.hosts)} localRanks {job.gpus} localRank {rank % job.gpus} MNNVL 0"
        )
        lines.append(
            "Channel 00/02 :    " + "   ".join(map(str, range(size))) if rank == 0 else "Trees [0] -1/-1/-1->1->0"
        )
        following, previous = (rank + 1) % size, (rank - 1) % size
        way = "/GDRDMA" if odd.gdr or not deviates else ""
        if following // job.gpus != rank // job.gpus:
            lines.append(f"Channel 00/0 : {rank}[0] -> {following}[0] [send] via NET/{network}/0{way}")
        if previous // job.gpus != rank // job.gpus and network == "IB":
            lines.append(f"Channel 00/0 : {previous}[0] -> {rank}[0] [receive] via NET/{network}/0{way}")
            mtu = odd.mtu if deviates else 5
            lines.append(
                f"NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 4{rank} mtu {mtu} GID 3 (0/{_gid(rank)}) fifoRkey=0x1 fifoLkey=0x1"
            )
        lines.append("Connected all rings")
        lines.append(
            f"ncclCommInitRank comm 0x55cc{rank:04x} rank {rank} nranks {size} cudaDev {rank % job.gpus} nvmlDev 0 busId 1c000 commId {identity} - Init COMPLETE"
        )
        ranks.append([_text(job, rank, "INFO", text) for text in lines])
    return ranks


def _gid(rank: int) -> str:
    """The address 10.9.0.(rank + 1), mapped, as NCCL prints it."""
    return f"{rank + 1:X}00090AFFFF0000"


WARNINGS = (
    ("run-call-failed", "Call to ibv_modify_qp failed with error Network is unreachable"),
    ("run-call-failed", "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.9.0.1, remote GID ::ffff:10.9.0.2"),
    ("run-call-failed", "Call to ibv_modify_qp failed with error No such device errno 19"),
    ("run-call-failed", "Call to ibv_create_qp failed with error Invalid argument"),
    ("run-call-failed", "ibv_post_send() failed with error Cannot allocate memory, Bad WR 0x7f12, First WR 0x7f12"),
    ("run-memory-locked", "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"),
    ("run-peer-memory", "Call to ibv_reg_mr failed with error Bad address"),
    ("run-peer-memory", "Call to ibv_reg_dmabuf_mr failed with error Operation not supported errno 95"),
    ("run-call-failed", "socketStartConnect: Connect to 10.0.0.4<56849> failed : Connection refused"),
    ("run-call-failed", "socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host) errno 115(Operation now in progress)"),
    ("run-call-failed", "ncclSocketProgressOpt: Call to recv from 10.0.0.4<56849> failed : Connection reset by peer"),
    ("run-retries-exceeded", "NET/IB : Got completion from peer 10.1.2.3<40001> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.9.0.1 remoteGids::ffff:10.9.0.2"),
    ("run-retries-exceeded", "NET/IB: Got completion from peer 10.1.2.3<40001> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 (Recv) localGid ::ffff:10.9.0.1 remoteGids::ffff:10.9.0.2 hca mlx5_3"),
    ("run-completion-failed", "NET/IB : Got completion with error 4, opcode 0, len 0, vendor err 81"),
    ("run-completion-failed", "NET/OFI Request 0x7f4 completed with error. RC: 107. Error: 4113 (Unresponsive receiver). Completed length: 0, Request: x"),
    ("run-link-event", "NET/IB : mlx5_2:1 async fatal event: local catastrophic error"),
    ("run-link-event", "NET/IB : mlx5_2:1 Got async event : port error"),
    ("run-link-event", "NET/IB : mlx5_2:1 async fatal event on QP (0x7f00): QP fatal error"),
    ("run-no-rdma-device", "NET/IB : Unable to open device mlx5_1"),
    ("run-gpu-failed", "Cuda failure 700 'an illegal memory access was encountered'"),
    ("run-gpu-failed", "nvmlDeviceGetHandleByPciBusId() failed: GPU is lost"),
    ("run-gpu-failed", "HIP failure 'out of memory'"),
    ("run-same-gpu", "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000"),
    ("run-nvlink", "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 2 'out of memory'."),
    ("run-nvlink", "cudaIpcGetMemHandle failed : invalid argument"),
    ("run-shared-memory", "Error: failed to extend /dev/shm/nccl-xYz to 9637892 bytes, error: No space left on device (28)"),
    ("run-shared-memory", "Error while creating shared memory segment /dev/shm/nccl-abc (size 9637888)"),
    ("run-out-of-memory", "Failed to CUDA calloc async 2147483648 bytes"),
    ("run-library-missing", "Failed to open libibverbs.so[.1]"),
    ("run-library-missing", "Failed to find CUDA library libcuda.so (NCCL_CUDA_PATH='') : no such file"),
    ("run-mixed-versions", "Mismatched NCCL version detected : rank 0 version 22304 rank 1 version 22707"),
    ("run-mixed-rails", "Detected mixed local Net device counts across ranks (min 7, max 8). Set NCCL_IGNORE_NET_MISMATCH=1 to continue."),
    ("run-ranks-disagree", "Message truncated : received 1024 bytes instead of 256"),
    ("run-ranks-disagree", "NET/IB : req 0/1 tag 7 peer 10.0.0.2<33333> collective mismatch error, local size 1024 remote size 2048"),
    ("run-foreign-connection", "socketFinalizeAccept: wrong type 3 != 2"),
    ("run-nic-failed", "NET/IB: ncclIbResiliencyHandle: Device 1 marked as failed. (Send comm=0x7f)"),
    ("run-plugin-failed", "NET/OFI Failed to initialize rdma protocol"),
    ("run-plugin-failed", "Error: network AWS not found."),
    ("run-topology", "Could not find a path for pattern 4, falling back to simple order"),
    ("run-topology", "Could not open XML topology file /etc/topo.xml : No such file or directory"),
    ("run-bad-setting", "NCCL_WORK_FIFO_BYTES=1000 is being ignored because it is not a power of 2."),
    ("run-host-setting", 'Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!'),
    ("run-offload", "NET/IB :SHARP coll init error: Cannot connect to SHArP Aggregation Manager(-8)"),
    ("run-arguments", "AllReduce : sendbuff is not a valid pointer"),
    ("run-arguments", "Broadcast : invalid root 9 (root should be in the 0..8 range)"),
    ("run-internal", "[Service thread] Unknown command 0 from localRank 3"),
    ("run-peer-ended", "socketProgress: Connection closed by remote peer 10.0.0.3<41109>"),
    ("run-bootstrap-interface", "Bootstrap : no socket interface found"),
    ("run-unknown-warning", "Quorum of the spline lattice was not met (17 of 23)"),
    ("run-unknown-warning", "Beacon 12 drifts beyond its gauge"),
)  # fmt: skip
"""Warnings and the ids that fit them. The two last are in no version of NCCL."""
DEVIATIONS = (
    ("run-missing-nic", Odd(nics=3)),
    ("run-over-sockets", Odd(network="Socket", setting="NCCL_IB_DISABLE set by environment to 1.")),
    ("run-no-rdma-device", Odd(network="Socket", no_device=True)),
    ("run-mixed-versions", Odd(version="2.19.4+cuda12.2")),
    ("run-mixed-settings", Odd(setting="NCCL_IB_QPS_PER_CONNECTION set by environment to 1.")),
    ("run-mixed-mtu", Odd(mtu=3)),
    ("run-nic-speed", Odd(speed=100000)),
    ("run-no-gpudirect", Odd(gdr=False)),
    ("run-bootstrap-interface", Odd(bootstrap="docker0")),
    ("run-bootstrap-interface", Odd(bootstrap="ens9f1")),
)


@dataclass(frozen=True)
class Planted:
    """A log, the id and the host that must be found, and what was done to it."""

    text: str
    id: str
    host: str
    hosts: tuple[str, ...]
    done: str


def made(number: int, *, faulty: bool = True) -> Planted:
    """The log of this number."""
    draw = drawn_by(number)
    names = draw.choice((("gpu-{}", 1), ("node{:02d}", 1), ("ip-10-0-1-{}", 7), ("h{}", 1), ("dgx-{:03d}.cluster", 11)))
    hosts = tuple(names[0].format(names[1] + place) for place in range(draw.choice((3, 4, 5))))
    job = Job(hosts, draw.choice((1, 2)), draw.choice(VERSIONS))
    kinds = (*WARNINGS, *DEVIATIONS) if faulty else ()
    id_, cause = kinds[number % len(kinds)] if kinds else ("", "")
    odd = replace(cause, host=draw.choice(hosts)) if isinstance(cause, Odd) else None
    ranks = healthy(job, draw, odd)
    host = odd.host if odd else ""
    if isinstance(cause, str) and cause:
        victim = draw.randrange(len(ranks))
        host = hosts[victim // job.gpus]
        ranks[victim].append(_text(job, victim, "WARN", cause))
        if draw.random() < 0.5:
            ranks[victim].append(_text(job, victim, "INFO", "transport/net.cc:1134 -> 6"))
    name = draw.choice(sorted(PREFIXES))
    lines = _woven(ranks, draw, name, hosts, job.gpus)
    done = name
    if faulty and (way := draw.choice(("", "glued", "cut begin", "cut end"))):
        lines = _spoiled(lines, way, draw)
        done += f", {way}"
    return Planted("\n".join(lines) + "\n", id_, host, hosts, done)


def _woven(ranks: list[list[str]], draw: random.Random, name: str, hosts: tuple[str, ...], gpus: int) -> list[str]:
    """The lines of all ranks, each rank's in its order."""
    left = [list(reversed(lines)) for lines in ranks]
    woven: list[str] = []
    while any(left):
        rank = draw.choice([rank for rank, lines in enumerate(left) if lines])
        woven.append(PREFIXES[name](rank, hosts[rank // gpus], len(woven)) + left[rank].pop())
    return woven


def _spoiled(lines: list[str], way: str, draw: random.Random) -> list[str]:
    if way == "cut begin":
        first = lines[0]
        return [first[draw.randrange(1, len(first) // 2) :], *lines[1:]]
    if way == "cut end":
        return [*lines, lines[3][: draw.randrange(10, len(lines[3]))]]
    place = draw.randrange(2, len(lines) - 1)
    ends = draw.randrange(20, max(21, len(lines[place]) - 1))
    if "WARN" in lines[place] or ("WARN" not in lines[place + 1] and draw.random() < 0.3):
        return lines
    return [*lines[:place], lines[place][:ends] + lines[place + 1], lines[place][ends:], *lines[place + 2 :]]


def judged(planted: Planted) -> str:
    """What is wrong about the answer: nothing (empty), ``missed``, ``wrong host`` or ``false alarm``."""
    [result] = triage_job([(planted.text, "job.log")])
    findings = [diagnosis.finding for diagnosis in result.diagnoses]
    if not planted.id:
        return f"false alarm: {findings[0].id} {findings[0].where} {findings[0].what[:80]}" if findings else ""
    fitting = [finding for finding in findings if finding.id == planted.id]
    strangers = [finding for finding in findings if finding.where not in {*planted.hosts, "job.log"}]
    others = [finding for finding in fitting if finding.where in planted.hosts and finding.where != planted.host]
    if strangers or others:
        odd = (strangers or others)[0]
        return f"wrong host: {odd.id} {odd.where} {odd.what[:80]}"
    if not any(finding.where == planted.host for finding in fitting):
        return f"missed: {[(finding.id, finding.where) for finding in findings][:4]}"
    return ""


@lru_cache(maxsize=300)
def _sample(number: int) -> str:
    return made(number).text


def mutated(number: int) -> str:
    """A made log with bytes changed, doubled and cut out, lines shuffled and parts of other logs put in."""
    draw = drawn_by(number)
    whole = _sample(draw.randrange(300)).split("\n")
    begin = draw.randrange(len(whole))
    text = "\n".join(whole[begin : begin + draw.randrange(1, 24)]) if draw.random() < 0.95 else "\n".join(whole)
    for _ in range(draw.randrange(1, 12)):
        place, length = draw.randrange(len(text) + 1), draw.choice((1, 1, 2, 8, 64, 500))
        way = draw.randrange(5)
        if way == 0:
            text = text[:place] + text[place + length :]
        elif way == 1:
            text = text[:place] + text[place : place + length] * draw.choice((2, 2, 40)) + text[place + length :]
        elif way == 2:
            noise = "".join(draw.choice("\0\x1b[]():<>{}=#%,-0123456789 \t\r\nabcxNCCL\u2028é") for _ in range(length))
            text = text[:place] + noise + text[place + length :]
        elif way == 3:
            text = text[:place] + draw.choice(PIECES) + text[place:]
        else:
            lines = text.split("\n")
            draw.shuffle(lines)
            text = "\n".join(lines)
    return text


PIECES = (
    '{"pg_status": {}, "entries": [{"state": "started"}]}',
    "[rank1]:[E1 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0 Rank 1] at work: 9, last enqueued NCCL work: 9, last completed NCCL work: 8.",
    "#0-0 (fa93) MISMATCH\n  2 ranks have launched up to operation 640\n  Rank 12 -- GPU 4 managed by process 3 on node n",
    "  Port number 1 state is Down\n",
    "# nThread 1 nGpus 1\n",
    "[7, ] finished collective #182, but didn't join collective #183",
    "NCCL WARN Call to ibv_modify_qp failed with 110 x, local GID ::zz, remote GID 1.2.3.999",
    " NET/IB : Using [0]:1/ [99999999999]x:1/RoCE",
)


def main(words: list[str]) -> int:
    """Judge N logs with a cause (200) and 50 without, drawn by SEED (0), and print what is wrong. ``mutate N [SEED]``: triage N mutated logs instead."""
    mutate = words[:1] == ["mutate"]
    number, seed = ([int(word) for word in words[mutate:]] + [100_000 if mutate else 200, 0][len(words[mutate:]) :])[:2]
    first = seed * 1_000_000
    if mutate:
        for place in range(first, first + number):
            triage_job([(mutated(place), "job.log")])
        print(f"{number} mutated logs: no error")
        return 0
    wrong: dict[int, tuple[Planted, str]] = {}
    for faulty, places in ((True, range(first, first + number)), (False, range(first, first + 50))):
        for place in places:
            planted = made(place, faulty=faulty)
            if why := judged(planted):
                wrong[place if faulty else -1 - place] = planted, why
    for place, (planted, why) in wrong.items():
        print(f"{place}: {planted.id} on {planted.host} ({planted.done}): {why}")
    hosts = sum(why.startswith("wrong host") for _, why in wrong.values())
    alarms = sum(place < 0 for place in wrong)
    missed = len(wrong) - alarms
    print(f"{number - missed} of {number} right, {hosts} with a wrong host; {alarms} of 50 healthy logs have findings")
    return 1 if hosts or alarms or missed * 20 > number else 0


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
