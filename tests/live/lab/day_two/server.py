"""A server drained in a lab: apply waits until its jobs have gone, and marks it; packets of others and, afterwards, of all arrive."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_apply, deploy_drain, deploy_undrain
from railweave.live.lab import life, logins
from railweave.live.lab.faults.measure import Prober
from railweave.live.lab.faults.traffic import QueuePair
from railweave.live.lab.kernel.namespace import RUN
from railweave.live.lab.names import namespace
from railweave.live.lab.running import Running
from tests.conftest import EXAMPLES, frr_root
from tests.live.lab.day_two import drain

SERVER = "H100-01"
GOES_S = 15.0
"""After so many seconds its jobs have gone elsewhere."""
HEAD = [
    "| drained | ports | its flows end after | done after | packets of others lost | back in use | packets of all lost |",
    "|---|---|---|---|---|---|---|",
]


_SEND = """
import socket, sys, time
flows = []
for at in range(1, len(sys.argv), 2):
    one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    one.bind((sys.argv[at], 0))
    flows.append((one, sys.argv[at + 1]))
while True:
    for one, address in flows:
        one.sendto(bytes(1000), (address, 9))
    time.sleep(0.01)
"""


def split(pairs: list[QueuePair]) -> tuple[list[QueuePair], list[QueuePair]]:
    """Those that begin at the server, and those that have nothing to do with it."""
    own = [one for one in pairs if one.src.startswith(f"{SERVER}:")]
    return own, [one for one in pairs if f"{SERVER}:" not in f"{one.src} {one.dst}"]


@contextmanager
def job(lab: Running, pairs: list[QueuePair]) -> Iterator[None]:
    """A job on the server, which sends for so many seconds from each of its NICs, and is gone then."""
    words = [text for one in pairs for text in (one.src_gid, one.dst_gid)]
    inside = ["nsenter", f"--net={RUN / namespace(lab.place.lab, SERVER)}", sys.executable, "-c", _SEND, *words]
    sending = subprocess.Popen(inside)
    leaves = threading.Timer(GOES_S, sending.terminate)
    leaves.start()
    try:
        yield
        leaves.join()
    finally:
        leaves.cancel()
        sending.kill()
        sending.wait()


def drained(fabric: Path, access: Path) -> tuple[str, list[str]]:
    """Drain and undrain the server: its row, and what was wrong."""
    text = fabric.read_text()
    plan = deploy_drain(fabric, [SERVER], lab=True, access=access)
    assert plan.drain is not None
    if wrong := list(plan.refused):
        return "", wrong
    said: list[str] = []
    own, others = split(drain.crossing(fabric, frozenset())[0])
    with life.attach(fabric)[1] as lab, Prober(lab, others) as rest, job(lab, own):
        began = time.monotonic()
        deploy_apply(drain.saved(plan, fabric), lab=True, access=access, idle_limit=drain.QUIET, progress=said.append)
        took = time.monotonic() - began
        kept = rest.stop()
    for line in said:
        drain.say(f"  {line}")
    wrong += [] if took > GOES_S else [f"it was done after {took:.0f} s, while its flows went on"]
    wrong += [] if any("waiting for traffic to end" in line for line in said) else ["nothing was waited for"]
    wrong += [] if f"{SERVER}: drained" in fabric.read_text() else ["the fabric file does not say so"]
    wrong += drain.stands(fabric, access)
    back = drain.carried_out(fabric, deploy_undrain(fabric, [SERVER], lab=True, access=access), access, frozenset())
    wrong += drain.stands(fabric, access)
    wrong += [] if fabric.read_text() == text else ["the fabric file is not as it was"]
    lost = int((~kept.arrived).sum())
    wrong += [f"{count} packets lost" for count in (lost, back.lost) if count]
    ports = sum(map(len, plan.drain.ports.values()))
    row = (
        f"| {SERVER} | {ports} | {GOES_S:.0f} s | {took:.0f} s | {lost} of {kept.arrived.size:,} "
        f"| {back.seconds:.0f} s | {back.lost} of {back.sent:,} |"
    )
    return row, wrong


def tried() -> tuple[list[str], list[str]]:
    """The table, and what was wrong."""
    with TemporaryDirectory() as folder:
        fabric = Path(folder) / "fabric.yaml"
        fabric.write_text(
            (EXAMPLES / "h100-rlb.yaml")
            .read_text()
            .replace("device: qfx5240-64od", "device: qfx5240-64od\n      nos: frr")
        )
        try:
            life.up(fabric, api.load(fabric), overlay=drain.TIMERS, frr_root=frr_root())
            with life.attach(fabric)[1] as lab:
                access = logins.listen(lab)
            row, wrong = drained(fabric, access)
        finally:
            life.down(fabric)
    return [*HEAD, row], wrong
