"""`railweave host capture-roce`: what it changes on a NIC is put back, however it ends; a real tcpdump captures what is sent."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from railweave.host.commands import main
from tests.host.plans import SOURCE
from tests.host.test_packets import FRAMES, cnp, packet, pcap
from tests.netns import needs_root, server

PCI = "0000:1d:00.0"
TOOLS = {
    "ethtool": 'case $1 in --show-priv-flags) echo "Private flags for $2:"; echo "sniffer            : $(cat FOLDER/flag)";;\n'
    "--set-priv-flags) [ $3 = sniffer ] && echo $4 >FOLDER/flag; echo $2 $4 >>FOLDER/log;; esac\n",
    "tcpdump": 'if [ "$1" = -D ]; then cat FOLDER/interfaces; exit; fi\n'
    "[ ! -e FOLDER/fail ] || { echo 'tcpdump: eth1: no permission' >&2; exit 1; }\n"
    "echo $* >FOLDER/asked; cp FOLDER/sent.pcap FOLDER/out.pcap; trap 'exit 0' INT TERM\n"
    "[ ! -e FOLDER/limit ] || exit 0\ntouch FOLDER/running; while :; do sleep 0.02; done\n",
    "niccli": 'echo $* >>FOLDER/log; case "$*" in *--getoption*) echo "$5 = $(cat FOLDER/$5)";;\n'
    '*--setoption*) while [ "$1" != --value ]; do shift; done; echo $2 >FOLDER/$OPTION;; esac\n',
}


class Machine:
    """A server's sysfs, and stand-ins of ethtool, tcpdump and niccli."""

    def __init__(self, folder: Path, driver: str, rdma: str) -> None:
        self.folder, self.driver = folder, driver
        (folder / "bin").mkdir()
        for name, text in TOOLS.items():
            script = text.replace("FOLDER", str(folder)).replace("$OPTION", "$(echo \"$ALL\" | cut -d' ' -f5)")
            (folder / "bin" / name).write_text(f'#!/bin/sh\nALL="$*"\n{script}')
            (folder / "bin" / name).chmod(0o755)
        for name, text in {
            "flag": "off",
            "interfaces": "1.lo\n",
            "enable_sriov": "1",
            "default_evb_mode": "0",
            "log": "",
        }.items():
            (folder / name).write_text(text + "\n")
        (folder / "sent.pcap").write_bytes(pcap(FRAMES))
        device = folder / "sys/devices" / PCI
        (device / "infiniband" / rdma).mkdir(parents=True)
        (device / "net/eth1").mkdir(parents=True)
        drivers = folder / "sys/bus/pci/drivers" / driver
        drivers.mkdir(parents=True)
        for link, to in {
            "sys/class/net/eth1/device": device,
            f"sys/class/infiniband/{rdma}/device": device,
            f"sys/devices/{PCI}/driver": drivers,
        }.items():
            there = folder / link
            there.parent.mkdir(parents=True, exist_ok=True)
            there.symlink_to(to)

    def argv(self, words: tuple[str, ...], verb: str = "capture-roce") -> list[str]:
        more = ["--state-file", str(self.folder / "state/host.state.json")]
        more += (
            ["--sysfs", str(self.folder / "sys"), "--host-file", str(self.folder / "host.json")]
            if verb == "capture-roce"
            else []
        )
        (self.folder / "host.json").write_text(json.dumps(PLAN))
        return [verb, *words, *more]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The command in a process of its own, for signals."""
        env = {**os.environ, "PYTHONPATH": str(SOURCE)}
        argv = [sys.executable, "-m", "railweave.host", *self.argv(words)]
        return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *words: str, verb: str = "capture-roce") -> tuple[int, str]:
        """The command in this process."""
        printed = io.StringIO()
        handlers = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                code = main(self.argv(words, verb))
        finally:
            for number, handler in handlers:
                signal.signal(number, handler)
        return code, printed.getvalue()

    def until_running(self, program: subprocess.Popen[str]) -> None:
        end = time.monotonic() + 60
        while not (self.folder / "running").exists():
            assert program.poll() is None, program.communicate()[0]
            assert time.monotonic() < end
            time.sleep(0.01)

    def content(self, name: str) -> str:
        return (self.folder / name).read_text().strip()

    @property
    def out(self) -> str:
        return str(self.folder / "out.pcap")


PLAN = {
    "schema": 1,
    "network": "n",
    "host": "h",
    "nics": [],
    "routes": [],
    "rules": [],
    "gpu": {"count": 0, "vendor": ""},
}


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


@pytest.fixture
def nvidia(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "mlx5_core", "mlx5_0")


@pytest.fixture
def broadcom(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "bnxt_en", "bnxt_re0")


@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "limit", "failure"])
def test_the_flag_is_put_back(end: str, nvidia: Machine) -> None:
    if end == "failure":
        (nvidia.folder / "fail").touch()
    if end == "limit":
        (nvidia.folder / "limit").touch()
    if end.startswith("SIG"):
        with nvidia.start("eth1", "-o", nvidia.out) as program:
            nvidia.until_running(program)
            assert nvidia.content("flag") == "on"
            program.send_signal(signal.Signals[end])
            text, _ = program.communicate(timeout=60)
        code = program.returncode
    else:
        code, text = nvidia.run("eth1", "-o", nvidia.out)
    assert code == (1 if end == "failure" else 0), text
    assert ("no permission" if end == "failure" else "10 of RoCE v2 in 4 flows") in text
    assert nvidia.content("flag") == "off"
    assert nvidia.content("log") == "eth1 on\neth1 off"
    assert not (nvidia.folder / "state/capture.state.json").exists()


def test_after_a_kill_the_next_run_or_undo_puts_it_back(nvidia: Machine) -> None:
    for then in (("eth1", "-o", nvidia.out), ("--dry-run",), ()):
        with nvidia.start("eth1", "-o", nvidia.out) as program:
            nvidia.until_running(program)
            children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
            program.kill()
            for child in children:
                os.kill(int(child), signal.SIGTERM)
        (nvidia.folder / "running").unlink()
        assert nvidia.content("flag") == "on"
        if then and then[0] == "eth1":
            (nvidia.folder / "limit").touch()
            assert nvidia.run(*then)[0] == 0
            (nvidia.folder / "limit").unlink()
        elif then:
            code, text = nvidia.run(*then, verb="undo")
            assert (code, "ethtool --set-priv-flags eth1 sniffer off" in text, nvidia.content("flag")) == (
                0,
                True,
                "on",
            ), text
            assert nvidia.run(verb="undo")[0] == 0
        else:
            assert "undone: sniffer eth1" in nvidia.run(verb="undo")[1]
        assert nvidia.content("flag") == "off"
        assert not (nvidia.folder / "state/capture.state.json").exists()


def test_an_interrupt_before_the_limit_is_told(nvidia: Machine) -> None:
    with nvidia.start("mlx5_0", "-o", nvidia.out, "--seconds", "600") as program:
        nvidia.until_running(program)
        program.send_signal(signal.SIGTERM)
        text, _ = program.communicate(timeout=60)
    assert (program.returncode, nvidia.content("flag")) == (130, "off")
    assert "everything is as it was before" in text


def test_an_rdma_device_needs_no_flag(nvidia: Machine) -> None:
    (nvidia.folder / "interfaces").write_text("1.eth1 [Up]\n2.mlx5_0 (RDMA sniffer)\n")
    (nvidia.folder / "limit").touch()
    assert nvidia.run("eth1", "-o", nvidia.out, "--packets", "5")[0] == 0
    assert nvidia.content("log") == ""
    assert nvidia.content("asked").startswith(f"-i mlx5_0 -n -U -w {nvidia.out} -s 192 -c 5 udp dst port 4791")


def test_a_driver_without_any_way_is_told(nvidia: Machine) -> None:
    (nvidia.folder / "bin/ethtool").write_text("#!/bin/sh\necho 'netlink error: Operation not supported' >&2; exit 1\n")
    code, text = nvidia.run("eth1", "-o", nvidia.out)
    assert (code, "install tcpdump with libpcap 1.9 or newer" in text) == (1, True), text
    code, text = nvidia.run("eth9", "-o", nvidia.out)
    assert (code, "NICs with RDMA are eth1" in text) == (2, True), text


def test_flash_of_broadcom_is_prepared_and_restored(broadcom: Machine) -> None:
    code, text = broadcom.run("eth1", "-o", broadcom.out)
    assert code == 1
    assert "enable_sriov is 1, wanted 0 and default_evb_mode is 0, wanted 3" in text
    assert "--prepare" in text
    assert not any("--setoption" in line for line in broadcom.content("log").splitlines())
    assert broadcom.run("eth1", "--prepare")[0] == 0
    set_ = [line for line in broadcom.content("log").splitlines() if "--setoption" in line]
    assert set_ == [
        f"--dev {PCI} nvm --setoption enable_sriov --value 0",
        f"--dev {PCI} nvm --setoption default_evb_mode --scope 0 --value 3",
    ]
    assert "prepared already" in broadcom.run("bnxt_re0", "--prepare")[1]
    (broadcom.folder / "limit").touch()
    assert broadcom.run("eth1", "-o", broadcom.out)[0] == 0
    assert broadcom.content("asked").startswith("-i eth1 ")
    assert "restart the server" in broadcom.run("eth1", "--restore")[1]
    assert (broadcom.content("enable_sriov"), broadcom.content("default_evb_mode")) == ("1", "0")
    assert "nothing to restore" in broadcom.run("eth1", "--restore")[1]


@pytest.fixture
def real(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path, "bnxt_en", "bnxt_re0")
    (machine.folder / "bin/tcpdump").unlink()
    (machine.folder / "bin/ethtool").unlink()
    (machine.folder / "enable_sriov").write_text("0 - Disabled\n")
    (machine.folder / "default_evb_mode").write_text("3\n")
    return machine


@needs_root
@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
def test_a_real_tcpdump_captures_what_a_nic_receives(real: Machine) -> None:
    """Packets that the other end of a cable sends, among others that are no RoCE."""
    sent = (
        [packet(7, psn, ecn=3 if psn % 5 == 0 else 2) for psn in range(20)]
        + [cnp(), cnp()]
        + [packet(4, 1, udp_port=53)] * 3
    )
    sender = (
        "import socket, sys, time\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\ns.bind(('eth1', 0))\n"
        "for line in sys.stdin: s.send(bytes.fromhex(line))\n"
    )
    (real.folder / "host.json").write_text(json.dumps(PLAN))
    with server(["eth1"]) as host:
        env = {"PATH": f"{real.folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(SOURCE)}
        words = [
            sys.executable,
            "-m",
            "railweave.host",
            "capture-roce",
            "eth1",
            "-o",
            real.out,
            "--packets",
            "22",
            "--json",
        ]
        words += [
            "--sysfs",
            str(real.folder / "sys"),
            "--state-file",
            str(real.folder / "state"),
            "--host-file",
            str(real.folder / "host.json"),
        ]
        inside = host.argv("env", *(f"{name}={value}" for name, value in env.items()), *words)
        with subprocess.Popen(inside, stdout=subprocess.PIPE, text=True) as program:
            end = time.monotonic() + 60
            while not Path(real.out).exists():
                assert program.poll() is None
                assert time.monotonic() < end
                time.sleep(0.02)
            host.leaf.run(sys.executable, "-c", sender, input="\n".join(frame.hex() for frame in sent))
            text, _ = program.communicate(timeout=60)
    found = json.loads(text)
    assert (found["roce"], found["cnps"], found["other"]) == (22, 2, 0)
    assert found["ecn"] == {"Not-ECT": 2, "ECT(0)": 16, "CE": 4}
