"""net-setup.sh in a namespace: what it makes with the kernel, what it leaves, and what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from railweave.model.device.host_model import HostConfig
from railweave.outputs.rendering.host import files
from railweave.outputs.rendering.host.net_setup import net_setup_sh
from tests.netns import Namespace, Server, needs_root, server
from tests.outputs.rendering.host.servers import (
    addresses,
    check_as_planned,
    check_way_out,
    config,
    every,
    macs,
    network,
    routes,
    rules,
)

SYSTEMD_SYSCTL = Path("/lib/systemd/systemd-sysctl")


class Script:
    """A server's script, with a folder of its own for what undoes it."""

    def __init__(self, one: HostConfig, folder: Path) -> None:
        self.path = folder / "net-setup.sh"
        self.path.write_text(net_setup_sh(one))
        self.env = {"RAILWEAVE_RUN": str(folder / "run")}

    def __call__(self, host: Server, *words: str, rc: int = 0) -> subprocess.CompletedProcess[str]:
        done = host.run("bash", self.path, *words, check=False, env=self.env)
        assert done.returncode == rc, done.stdout + done.stderr
        return done


def everything(host: Server) -> tuple[object, ...]:
    """What `ip` shows but for the time addresses have left."""
    links = [(one["ifname"], one["mtu"], "UP" in one["flags"]) for one in host.ip("link", "show")]
    return (*(host.run("ip", "-N", family, "rule").stdout for family in ("-4", "-6")), sorted(routes(host)), links, host.run("ip", "-4", "-br", "addr").stdout)  # fmt: skip


@needs_root
@pytest.mark.parametrize("name", ["H100-01", "H100-03"])
def test_kernel_handles_advertisements(name: str, tmp_path: Path) -> None:
    one = config("h100-rlb", name, "kernel")
    script = Script(one, tmp_path)
    with server(macs(one), macs=macs(one)) as host:
        if SYSTEMD_SYSCTL.exists():
            conf = tmp_path / "sysctl.conf"
            conf.write_text(files(one)["sysctl.conf"])
            host.run(SYSTEMD_SYSCTL, "--prefix=/net", conf)
        before = everything(host)
        script(host)
        for nic in one.nics:
            host.advertise(nic.netdev, [address.prefix for address in nic.addresses])
        check_as_planned(host, one)
        check_way_out(host, one, "fc00:9:9:9::1")
        assert {link["mtu"] for link in host.ip("link", "show") if link["ifname"] != "lo"} == {9000}
        assert "made 0 changes" in script(host).stderr
        check_as_planned(host, one)
        script(host, "--undo")
        assert everything(host) == before
        assert "nothing to undo" in script(host, "--undo").stderr


@needs_root
@pytest.mark.parametrize("scheme", ["24", "31"])
def test_static(scheme: str, tmp_path: Path) -> None:
    one = config(f"mi300x-leaf-{scheme}", "host2")
    script = Script(one, tmp_path)
    with server(macs(one)) as host:
        before = everything(host)
        script(host)
        check_as_planned(host, one)
        check_way_out(host, one, "198.51.100.1" if scheme == "24" else "1.1.199.1")
        assert "made 0 changes" in script(host).stderr
        for state in ("down", "up"):  # a link that flaps takes nothing with it
            for nic in one.nics:
                host.cable(nic.netdev, state)
            check_as_planned(host, one)
        script(host, "--undo")
        assert everything(host) == before


@needs_root
def test_what_was_there_stays(tmp_path: Path) -> None:
    """A rule, a route and a link state that others made are found as they were, also where they differ."""
    one = config("mi300x-leaf-24", "host1")
    script = Script(one, tmp_path)
    with server(macs(one)) as host:
        host.run("ip", "rule", "add", "from", "192.168.1.1", "lookup", "101", "priority", "10000")
        host.run("ip", "addr", "add", "192.168.1.1/24", "dev", "eth1")
        host.run("ip", "route", "add", "default", "via", "192.168.1.77", "dev", "eth1", "table", "101")
        host.run("ip", "link", "set", "eth8", "down")
        before = everything(host)
        script(host)
        gateways = {route[2] for route in routes(host) if route[0] == "101"}
        assert gateways == {"192.168.1.254"}
        assert len(rules(host)) == 8, "a rule whose priority is the kernel's choice is there already, whatever it has"
        script(host, "--undo")
        assert everything(host) == before


@needs_root
@pytest.mark.parametrize(("name", "metrics"), [("mi300x-leaf-24", (5, 9)), ("h100-rlb", (9, 2000))])
def test_a_route_of_another_metric(name: str, metrics: tuple[int, int], tmp_path: Path) -> None:
    """It stays beside ours, which goes when it is undone; one that the kernel takes before ours is told of."""
    one = config(name, network(name).servers[0].name, "kernel")
    script = Script(one, tmp_path)
    route = next(route for route in one.routes if route.via)
    family = "-6" if ":" in str(route.via) else "-4"
    with server(macs(one), macs=macs(one)) as host:
        for address in one.nics[0].addresses:  # with its last one, a NIC loses its IPv4 routes
            if address.origin == "static":
                host.run("ip", "addr", "add", f"{address.address}/{address.prefix_length}", "dev", route.dev)
        for metric in metrics:
            words = f"via {route.via} dev {route.dev} onlink table {route.table} metric {metric}"
            host.run("ip", family, "route", "add", "default", *words.split())
        before = everything(host)
        said = script(host).stderr
        assert said.count("warning: another route comes before ours") == 0, "each of them does what is planned"
        script(host, "--undo")
        assert everything(host) == before
        host.run("ip", family, "route", "flush", "table", str(route.table))
        for metric in metrics:
            host.run("ip", family, "route", "add", "default", "dev", route.dev, "table", str(route.table), "metric", str(metric))  # fmt: skip
        before = everything(host), host.run("ip", family, "route", "show", "table", str(route.table)).stdout
        for _ in range(2):
            said = script(host).stderr
            assert said.count("warning: another route comes before ours") == (metrics[0] < 1024 and family == "-6")
        assert (route.via or "") in {
            via for table, to, via, _ in routes(host) if (table, to) == (str(route.table), "default")
        }
        script(host, "--undo")
        assert (everything(host), host.run("ip", family, "route", "show", "table", str(route.table)).stdout) == before


@needs_root
def test_a_rule_that_comes_before_ours(tmp_path: Path) -> None:
    one = config("h100-rlb", "H100-01", "kernel")
    script = Script(one, tmp_path)
    ours = one.rules[0]
    with server(macs(one), macs=macs(one)) as host:
        for table, priority in ((4711, 9000), (4712, 10001)):
            host.run(
                "ip", "-6", "rule", "add", "from", str(ours.from_), "lookup", str(table), "priority", str(priority)
            )
        before = everything(host)
        (line,) = [line for line in script(host).stderr.splitlines() if "warning: another rule" in line]
        assert line.endswith(f"to remove it: ip -6 rule del from {ours.from_} lookup 4711 priority 9000")
        assert "another rule" in script(host, "--dry-run").stderr
        host.run(*line.split("to remove it: ")[1].split())
        assert "another rule" not in script(host).stderr
        script(host, "--undo")
        assert set(everything(host)[1].splitlines()) == {line for line in before[1].splitlines() if "4711" not in line}  # type: ignore[union-attr]


@needs_root
def test_a_rule_whose_priority_is_the_kernels_choice(tmp_path: Path) -> None:
    """It is put before what is there; what comes later may stand before it."""
    one = config("mi300x-leaf-24", "host1")
    script = Script(one, tmp_path)
    add = ["ip", "rule", "add", "from", str(one.rules[0].from_), "lookup"]
    with server(macs(one)) as host:
        host.run(*add, "4711", "priority", "100")
        assert "another rule" not in script(host).stderr
        assert "another rule" not in script(host).stderr
        host.run(*add, "4712", "priority", "5")
        (line,) = [line for line in script(host).stderr.splitlines() if "another rule" in line]
        assert line.endswith("lookup 4712 priority 5")


@needs_root
def test_a_run_that_failed_and_is_repeated(tmp_path: Path) -> None:
    one = config("mi300x-leaf-24", "host1")
    script = Script(one, tmp_path)
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    with server(macs(one)) as host:
        before = everything(host)
        made = len(script(host, "--dry-run").stdout.splitlines())
        failing = Script(one, wrong)
        failing.env = script.env
        failing.path.write_text(failing.path.read_text().replace("default via 192.168.4.254", "default via 10.9.9.9"))
        for _ in range(2):
            failing(host, rc=1)
        script(host)
        check_as_planned(host, one)
        assert f"undid {made} changes" in script(host, "--undo").stderr
        assert everything(host) == before


@needs_root
def test_a_nic_that_is_missing(tmp_path: Path) -> None:
    """The others are set up all the same; the script says which one is missing, and fails."""
    one = config("mi300x-leaf-24", "host1")
    script = Script(one, tmp_path)
    with server([name for name in macs(one) if name != "eth3"]) as host:
        assert "not there, so not set up: eth3" in script(host, rc=1).stderr
        assert {route[3] for route in routes(host)} == set(macs(one)) - {"eth3"}


@needs_root
def test_dry_run_shows_what_a_run_does(tmp_path: Path) -> None:
    one = config("h100-rlb", "H100-01", "kernel")
    script = Script(one, tmp_path)
    with server(macs(one), macs=macs(one)) as host:
        before = everything(host)
        shown = script(host, "--dry-run").stdout.splitlines()
        assert everything(host) == before
        for line in shown:
            host.run(*line.split())
        assert rules(host) == {(rule.priority, rule.from_, "", str(rule.table)) for rule in one.rules}
        assert script(host, "--dry-run").stdout == ""


@needs_root
def test_warns_where_the_kernel_ignores_advertisements(tmp_path: Path) -> None:
    one = config("h100-rlb", "H100-01", "kernel")
    script = Script(one, tmp_path)
    with server(macs(one)) as host:
        host.sysctl("net/ipv6/conf/gpu5_eth/accept_ra", 0)
        said = script(host).stderr
        assert [line.split(" on ")[1].split()[0] for line in said.splitlines() if "warning" in line] == ["gpu5_eth"]


def test_wrong_words() -> None:
    script = net_setup_sh(config("h100-rlb", "H100-01"))
    done = subprocess.run(["bash", "-s", "--", "--undoo"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--dry-run | --undo" in done.stderr


def test_every_script_is_bash() -> None:
    for one in every():
        script = net_setup_sh(one)
        assert not re.search(r"^@", script, re.MULTILINE), "a part of the template was not filled in"
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_shellcheck_has_nothing_to_say(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("shellcheck")
    for number, one in enumerate(every()):
        (tmp_path / f"{number}.sh").write_text(net_setup_sh(one))
    done = subprocess.run([program, *sorted(tmp_path.iterdir())], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_addresses_that_ip_filters_out() -> None:
    """``ip -j addr show -tentative`` shows each of them as an empty object."""

    class Shown(Namespace):
        def ip(self, *_: str) -> list[dict[str, Any]]:
            return [{}, {"ifname": "eth1", "addr_info": [{}, {"local": "fe80::1", "scope": "link"}, {"local": "fc00::1", "scope": "global"}]}]  # fmt: skip

    assert addresses(Shown("none")) == {"eth1": {"fc00::1"}}
