"""Checks of a server: healthy machines of every kind pass, and a machine that was recorded says the same."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from railweave.host import host_file
from railweave.host.checking import RecordedMachine, record
from railweave.host.checks import counters
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, FAILED, NOT_SEEN, WARNING
from railweave.host.checks.server import Counters, Result, server
from railweave.host.commands import main
from railweave.host.files import content, parsed
from railweave.host.machine import CommandOutput, Machine
from railweave.model.device.host import host_config
from railweave.outputs.rendering.host import netplan
from railweave.outputs.rendering.host.host_json import document
from tests.conftest import example
from tests.drawn import every, some
from tests.host.machines import Written, faults, healthy
from tests.host.machines.plans import PLANS, plan


def look(file: Path, machine: Machine, earlier: Counters | None = None) -> list[Result]:
    return running.run(server(machine, host_file.load(file), parsed(content(file)), earlier), running.chosen(()))


def campaign(folder: Path, seed: int, draws: int) -> tuple[int, list[str]]:
    """Draw faults; how many fitted a machine, and those that nobody named."""
    chance = Random(seed)  # noqa: S311 - a draw that can be repeated
    number, missed = 0, list[str]()
    tasks = [(fault, name) for fault in faults.FAULTS for name in PLANS]
    tasks += [(chance.choice(faults.FAULTS), chance.choice(PLANS)) for _ in range(draws)]
    for fault, name in tasks:
        file, document = plan(name, folder)
        parts = healthy(document, vendor_tools=chance.random() < 0.5)
        earlier = None
        if fault.later:
            earlier = Counters(0, counters.known(server(Written(parts), host_file.load(file), parsed(content(file)))))
        of = fault.spoil(parts, document, chance)
        if of is None:
            continue
        number += 1
        looked = server(Written(parts), host_file.load(file), document, earlier)
        said = [one for one in running.run(looked, [ALL[fault.check]]) if one.outcome.verdict in {FAILED, WARNING}]
        if not any(of in {"", one.outcome.of} for one in said):
            missed.append(f"{fault.name} ({fault.check}) on {name} {of}")
    return number, missed


def wrong(results: list[Result]) -> list[str]:
    return [
        f"{one.check.id} {one.outcome.of}: {one.outcome.verdict}: {one.outcome.seen} wanted {one.outcome.wanted}"
        for one in results
        if one.outcome.verdict in {FAILED, WARNING}
    ]


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("vendor_tools", [True, False])
def test_a_healthy_machine_passes(name: str, vendor_tools: bool, tmp_path: Path) -> None:
    file, document = plan(name, tmp_path)
    results = look(file, Written(healthy(document, vendor_tools=vendor_tools)))
    assert wrong(results) == []
    assert [one for one in results if one.outcome.verdict == NOT_SEEN] == []
    told = {one.check.id for one in results if one.outcome.verdict == "ok"}
    assert len(told) > 40, sorted(set(ALL) - told)


def test_what_is_not_seen_is_not_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tool that is not installed: exit 1 unless the check is allowed by name. A scheduler is told of failures only."""
    file, document = plan(next(iter(PLANS)), tmp_path)
    parts = healthy(document)
    for words in [words for words in parts.commands if words[0] == "lspci"]:
        del parts.commands[words]
    machine = Written(parts)
    look(file, machine)
    record(machine, tmp_path / "recorded")

    def called(*words: str) -> tuple[int, str, str]:
        code = main(["check", "--capture", str(tmp_path / "recorded"), "--host-file", str(file), *words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    code, out, _ = called("--json")
    blind = sorted({row["check"] for row in json.loads(out)["results"] if row["verdict"] == NOT_SEEN})
    assert (code, bool(blind)) == (1, True)
    allowed = [word for check in blind for word in ("--allow-unseen", check)]
    assert called(*allowed)[0] == 0
    assert called(*allowed[2:])[0] == 1
    assert called("--slurm") == (0, "", f"railweave: not seen: {', '.join(blind)}\n"[:491])
    code, out, _ = called("--slurm", "--strict")
    assert (code, out.startswith("railweave: ")) == (1, True)
    assert called("--allow-unseen", "no-such-check")[0] == 2


@pytest.mark.parametrize("name", PLANS)
def test_a_recorded_machine_says_the_same(name: str, tmp_path: Path) -> None:
    file, document = plan(name, tmp_path)
    machine = Written(healthy(document))
    live = look(file, machine)
    record(machine, tmp_path / "recorded")
    again = look(file, RecordedMachine(tmp_path / "recorded"))
    assert [(one.check.id, one.outcome) for one in again] == [(one.check.id, one.outcome) for one in live]


@pytest.mark.slow
def test_faults_are_found_and_named(tmp_path: Path) -> None:
    """Every fault once on every machine it fits, and then drawn: found by the check that it belongs to, at the thing."""
    found, missed = campaign(tmp_path, seed=1, draws=150 if every() else 30)
    assert len(missed) <= 0.03 * found, missed


def test_what_several_checks_need_is_taken_apart_once() -> None:
    machine, made = Machine(), list[int]()

    def make() -> int:
        time.sleep(0.01)  # so that the others come meanwhile
        made.append(1)
        return 7

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: machine.once(("an answer",), make), range(8)))
    assert (found, made) == ([7] * 8, [1])


@pytest.mark.parametrize(("told", "verdict"), [("yes", "ok"), ("no", "failed"), (None, "failed")])
def test_network_manager_keeps_a_nic_without_carrier_only_if_told(
    told: str | None, verdict: str, tmp_path: Path
) -> None:
    """Its configuration is that of networkmanager.conf, among sections for other devices."""
    config = host_config(example("mi300x-leaf-24"), "host1")
    plan = json.loads(json.dumps(document(config)))
    (tmp_path / "host.json").write_text(json.dumps(plan))
    parts = healthy(plan)
    for path in [one for one in parts.files if one.startswith("/run/systemd/netif/links/")]:
        del parts.files[path]
        parts.files[path.replace("/run/systemd/netif/links", "/run/NetworkManager/devices")] = (
            "[device]\nmanaged=true\n"
        )
    ours = netplan.network_manager_files(config)["networkmanager.conf"]
    own = "" if told is None else ours.replace("ignore-carrier=yes", f"ignore-carrier={told}")
    other = "[device-wifi]\nmatch-device=interface-name:wlan*\nignore-carrier=yes\n"
    parts.say(f"[main]\nplugins=keyfile\n\n{own}\n{other}", "NetworkManager", "--print-config")
    found = {
        one.outcome.verdict for one in look(tmp_path / "host.json", Written(parts)) if one.check.id == "host-carrier"
    }
    assert found == {verdict}


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("[main]\nignore-carrier=*\n", True),
        ("[main]\nignore-carrier=no\n", False),
        ("[main]\nignore-carrier=type:ethernet\n", True),
        ("[main]\nignore-carrier=*\n\n[device-own]\nmatch-device=interface-name:gpu*\nignore-carrier=no\n", False),
        ("[device]\nmatch-device=type:ethernet\nignore-carrier=yes\n", True),
        ("[device]\nmatch-device=interface-name:~gpu*\nignore-carrier=yes\n", True),
    ],
)
def test_network_managers_own_list_counts_where_no_section_of_devices_decides(
    text: str, keeps: bool, tmp_path: Path
) -> None:
    """NetworkManager.conf(5), ``ignore-carrier`` of ``[main]``: what the package NetworkManager-config-server sets."""
    plan = json.loads(json.dumps(document(host_config(example("mi300x-leaf-24"), "host1"))))
    (tmp_path / "host.json").write_text(json.dumps(plan))
    parts = healthy(plan)
    for path in [one for one in parts.files if one.startswith("/run/systemd/netif/links/")]:
        del parts.files[path]
        parts.files[path.replace("/run/systemd/netif/links", "/run/NetworkManager/devices")] = (
            "[device]\nmanaged=true\n"
        )
    parts.say(text.replace("gpu*", f"{plan['nics'][0]['netdev'][:3]}*"), "NetworkManager", "--print-config")
    found = {
        one.outcome.verdict for one in look(tmp_path / "host.json", Written(parts)) if one.check.id == "host-carrier"
    }
    assert found == {"ok" if keeps else "failed"}


def test_each_check_has_a_fault() -> None:
    without = {
        "system-smt",
        "host-router-advertisements",
        "job-environment",
        "job-tuner",
    }  # informs, or needs a plan of its own
    assert set(ALL) - {one.check for one in faults.FAULTS} - without == set()


@pytest.mark.slow
def test_nothing_that_is_missing_or_odd_ends_the_others(tmp_path: Path) -> None:
    """Each command in turn fails, prints nothing, or prints what nobody has seen: no check raises, the others go on."""
    file, document = plan("h100-rlb", tmp_path)
    parts = healthy(document)
    for words in some(sorted(parts.commands), 4, "commands with odd answers"):
        kept = parts.commands[words]
        for said in (
            CommandOutput("", "boom", 1),
            CommandOutput(""),
            CommandOutput("{\x00]"),
            CommandOutput('{"a": [1, {}]}'),
            CommandOutput(kept.out[: len(kept.out) // 2]),
            CommandOutput("", code=None),
        ):
            parts.commands[words] = said
            assert len(look(file, Written(parts))) > 100
        parts.commands[words] = kept


@pytest.mark.parametrize("check", [check.id for check in ALL.values() if check.per_nic])
def test_a_check_of_an_absent_nic_is_not_silent(check: str, tmp_path: Path) -> None:
    file, document = plan(next(iter(PLANS)), tmp_path)
    planned = document["nics"][0]["netdev"]
    parts = healthy(document, vendor_tools=True)

    class Without(Written):
        def names(self, path: str) -> list[str]:
            return [name for name in super().names(path) if (path, name) != ("/sys/class/net", planned)]

    looked = server(Without(parts), host_file.load(file), document)
    results = running.run(looked, [ALL[check]])
    of = {result.outcome.of: result.outcome for result in results}
    assert (of[planned].verdict, of[planned].seen) == (NOT_SEEN, f"there is no network device {planned}")
    assert running.exit_code(results) == 1
    together = running.run(looked, [ALL["nic-present"], ALL[check]])
    assert [each.check.id for each in together if each.outcome.of == planned] == ["nic-present"]


def test_every_check_that_is_asked_for_has_a_result(tmp_path: Path) -> None:
    file, document = plan(next(iter(PLANS)), tmp_path)
    document["nics"] = []
    looked = server(Written(healthy(document, vendor_tools=True)), host_file.load(file), document)
    bare = replace(looked, nics=())
    for check in running.chosen(()):
        assert running.run(bare, [check]), check.id
