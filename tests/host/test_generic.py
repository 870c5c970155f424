"""``host check --generic``: a server without a design is compared with itself, and says what it did not look at."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random

import pytest

from railweave.host import checking, discovery
from railweave.host.checking import record
from railweave.host.checks import counters
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, FAILED, NOT_SEEN, WARNING
from railweave.host.checks.server import Counters, Result
from railweave.host.commands import main
from tests.host.machines import Parts, Written, faults, healthy
from tests.host.machines.plans import plan

PLANS = ("h100-rlb", "mi300x-leaf-24", "evpn-gpu-isolation")
NEEDS_A_DESIGN = {
    "interface_renamed", "rdma_renamed", "swapped_slots", "strict reverse path", "parameter_changed", "link_pause",
    "other_cnp_file", "other_wavelength",
}  # fmt: skip
"""Faults that show only beside a design: names, slots, and settings that are right on another network."""
OF_THE_CARD = {"rdma_missing", "flash_setting"}
"""Faults that another check names (nic-present), or that the vendor's tool shows by planned names alone."""


def look(parts: Parts, earlier: Counters | None = None, *ids: str) -> list[Result]:
    looked = discovery.discovered(Written(parts), earlier)
    return running.run(looked, [ALL[name] for name in ids] if ids else running.chosen(()))


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("vendor_tools", [True, False])
def test_a_healthy_machine_has_no_finding(name: str, vendor_tools: bool, tmp_path: Path) -> None:
    _, document = plan(name, tmp_path)
    results = look(healthy(document, vendor_tools=vendor_tools))
    assert [(one.check.id, one.outcome) for one in results if one.outcome.verdict in {FAILED, WARNING, NOT_SEEN}] == []
    assert len({one.check.id for one in results if one.outcome.verdict == "ok"}) > 50
    assert not any(one.check.design for one in results)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_faults_are_found_by_comparison(name: str, tmp_path: Path) -> None:
    """Every fault of every check that needs no design, on each kind of machine: the check names the thing."""
    chance, missed = Random(7), list[str]()  # noqa: S311 - a draw that can be repeated
    for fault in faults.FAULTS:
        if ALL[fault.check].design:
            continue
        _, document = plan(name, tmp_path)
        parts = healthy(document, vendor_tools=chance.random() < 0.5)
        earlier = Counters(0, counters.known(discovery.discovered(Written(parts)))) if fault.later else None
        of = fault.spoil(parts, document, chance)
        said = [one.outcome.of for one in look(parts, earlier, fault.check) if one.outcome.verdict in {FAILED, WARNING}]
        if of is not None and not any(of in {"", one} for one in said):
            missed.append(fault.name)
    assert set(missed) <= NEEDS_A_DESIGN | OF_THE_CARD


def test_a_card_without_its_rdma_device_is_named(tmp_path: Path) -> None:
    _, document = plan("h100-rlb", tmp_path)
    parts = healthy(document)
    netdev = faults.rdma_missing(parts, document, Random(1))  # noqa: S311
    address = parts.links[f"/sys/class/net/{netdev}/device"].rpartition("/")[2]
    said = [one.outcome for one in look(parts, None, "nic-present", "gpu-nic-pairs")]
    assert [one.of for one in said if one.verdict == FAILED] == [address, ""]
    assert "GPU" in said[-1].seen


def test_limits_have_a_remedy_without_files_of_a_design(tmp_path: Path) -> None:
    """A server without a design has no limits.conf to install."""
    _, document = plan("h100-rlb", tmp_path)
    parts = healthy(document)
    limits = "Max open files 1024 20000 files\nMax locked memory 8388608 8388608 bytes"
    parts.files["/proc/self/limits"] = limits
    said = {one.check.id: one.outcome.remedy for one in look(parts, None, "system-memlock", "system-open-files")}
    assert "`* hard memlock unlimited` into /etc/security/limits.d/90-rdma.conf" in said["system-memlock"]
    assert said["system-open-files"].startswith("write `* hard nofile 65536` into ")


def test_two_nics_that_differ_are_both_named(tmp_path: Path) -> None:
    """Nobody knows which of two is right: a warning for each, and not silence."""
    _, document = plan("h100-rlb", tmp_path)
    document["nics"] = document["nics"][:2]
    parts = healthy(document)
    parts.files["/sys/class/net/gpu0_eth/mtu"] = "1500"
    said = [one.outcome for one in look(parts, None, "link-mtu")]
    assert [(one.of, one.verdict) for one in said] == [("gpu0_eth", WARNING), ("gpu1_eth", WARNING)]


def recorded(parts: Parts, folder: Path) -> Path:
    machine = Written(parts)
    looked = discovery.discovered(machine)
    running.run(looked, running.chosen(()))
    discovery.facts(looked)
    discovery.addresses(machine)
    record(machine, folder)
    return folder


def test_without_a_plan_both_remedies_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["check", "--host-file", str(tmp_path / "none.json")]) == 2
    error = capsys.readouterr().err
    assert "--host-file" in error
    assert "--generic" in error


def test_what_was_not_checked_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, document = plan("h100-rlb", tmp_path)
    folder = recorded(healthy(document), tmp_path / "machine")
    assert main(["check", "--generic", "--capture", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "Not checked for want of an earlier look: growth of counters (lossless-drops, resends, timeouts," in text
    assert "--watch 60s" in text
    assert "A design (host.json) would add" in text
    assert "host-routes" in text
    assert main(["check", "--generic", "--capture", str(folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["generic"], shown["network"]) == (True, "")
    assert shown["facts"]["nic-mtu"].startswith("8 ")
    assert {one["leaf"] for one in shown["nics"]} == {one["leaf"] for one in document["nics"]}
    assert len(shown["addresses"]["gpu0_eth"]) == len(document["nics"][0]["addresses"])


def test_two_looks_compare_their_counters(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--watch`` reads the counters, waits, and reports what has grown."""
    _, document = plan("h100-rlb", tmp_path)
    parts, waits = healthy(document), list[float]()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        port = f"/sys/class/infiniband/{document['nics'][3]['rdma']}/ports/1/hw_counters"
        parts.files[f"{port}/out_of_sequence"] = "5017"

    monkeypatch.setattr(checking, "ThisMachine", lambda *_: Written(parts))
    monkeypatch.setattr(time, "sleep", wait)
    assert main(["check", "--generic", "--watch", "2m", "--only", "counters"]) == 1
    text = capsys.readouterr().out
    assert waits == [120.0]
    assert "failed: counters-resends gpu3_eth" in text
    assert "out_of_sequence +5000" in text
    assert "Not checked" not in text
    assert main(["check", "--generic", "--watch", "60s", "--since", "before.json"]) == 2
    assert "--watch takes its own first look" in capsys.readouterr().err
