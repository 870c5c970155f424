"""SONiC changed by SSH: the verbs of its transaction on a stand-in, and plans made and carried out on a network of stand-ins."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from railweave import api
from railweave.analysis.checks.devices import saved
from railweave.api.deploying import deploy_apply
from railweave.errors import InputError
from railweave.live.reach.change_session import opened
from railweave.live.reach.target import PORTS, MachineLogin, Password, Target
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.operations.deploy.changes import DeviceChange, change
from railweave.operations.deploy.making import Answers, make_plan
from railweave.systems import system
from railweave.systems.sonic import transaction
from railweave.systems.transaction import ChangeRequest, Pending, RefusedError, Session
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD, USER, stand_ins
from tests.operations.deploy.sonic_box import SonicBox
from tests.operations.deploy.sonic_network import of_sonic
from tests.operations.deploy.test_mixed import texts
from tests.operations.deploy.test_rollout import OTHER, SMALL

LEAF = "stripe1-leaf1"
LABEL = "railweave-small-1-abcdef"
TABLES, ROUTING = "config_db.json", "frr.conf"
OWN = {
    "VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}},
    "NTP": {"global": {"src_intf": "eth0"}},
    "FEATURE": {"bgp": {"state": "enabled"}},
}
"""Rows that are the switch's own."""
FPM = "no fpm use-next-hop-groups\n!\nfpm address 127.0.0.1\n!\n"
"""Lines that SONiC itself appends to frr.conf (docker_init.sh)."""


def texts_of(config: DeviceConfig) -> dict[str, str]:
    """What a switch runs that has its design, and rows of its own."""
    files = system("sonic").files(config)
    tables = json.loads(files[TABLES])
    for table, rows in OWN.items():
        tables[table] = {**rows, **tables.get(table, {})}
    tables["DEVICE_METADATA"]["localhost"]["mac"] = "00:11:22:33:44:55"
    return {TABLES: json.dumps(tables), ROUTING: f"{files[ROUTING]}{FPM}"}


@cache
def _configs(text: str, folder: Path) -> dict[str, DeviceConfig]:
    path = folder / "of.yaml"
    path.write_text(of_sonic(text))
    network = api.load(path)
    return {one.name: device_config(network, one.name) for one in network.switches}


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[DeviceChange, dict[str, str]]:
    """What turns a leaf of one design into that of another, and what it ran before."""
    folder = tmp_path_factory.mktemp("designs")
    before, wanted = texts_of(_configs(OTHER, folder)[LEAF]), _configs(SMALL, folder)[LEAF]
    files = {name: system("sonic").files(wanted)[name] for name in (TABLES, ROUTING)}
    own = saved({LEAF: wanted}, {LEAF: before})
    made = change(LEAF, "sonic", before, files, lambda: own[LEAF])
    assert not made.refused
    return made, before


@pytest.fixture
def given(changed: tuple[DeviceChange, dict[str, str]]) -> ChangeRequest:
    made, before = changed
    return ChangeRequest(LABEL, made.commands, made.target, before)


@contextmanager
def leaf(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SonicBox, Target]]:
    monkeypatch.setenv("READER", PASSWORD)
    with stand_ins() as devices:
        box = SonicBox(json.loads(given.before[TABLES]), given.before[ROUTING])
        try:
            device = devices.ssh({}, shell=box.shell)
            known = box.folder / "known_hosts"
            known.write_text(f"{device.known()}\n")
            way = MachineLogin(
                "127.0.0.1", USER, {**PORTS, "ssh": device.port}, password=Password("env", "READER"), known_hosts=known
            )
            yield box, Target(LEAF, ("ssh",), way)
        finally:
            box.close()


def tell(target: Target, work: Callable[[Session], Awaitable[object]]) -> object:
    async def run() -> object:
        session = await opened(target, "ssh")
        try:
            return await work(session)
        finally:
            await session.close()

    return asyncio.run(run())


def commits(given: ChangeRequest, seconds: int = 600) -> Callable[[Session], Awaitable[object]]:
    return lambda session: transaction.commit(session, given, seconds)


def wanted(given: ChangeRequest) -> tuple[str, str]:
    box = SonicBox(json.loads(given.target[TABLES]), given.target[ROUTING])
    try:
        return box.running
    finally:
        box.close()


def test_rows_of_the_switchs_own_stay(changed: tuple[DeviceChange, dict[str, str]]) -> None:
    made, _ = changed
    target = json.loads(made.target[TABLES])
    assert target["DEVICE_METADATA"]["localhost"]["mac"] == "00:11:22:33:44:55"
    assert target["NTP"] == OWN["NTP"]
    assert "VERSIONS / DATABASE" in " ".join(made.kept) or "VERSIONS" in made.kept
    assert all(isinstance(one, dict) for one in made.commands[TABLES])
    assert {line for line in FPM.splitlines() if line != "!"} <= set(made.kept)
    assert made.target[ROUTING].count("fpm ") == 2


def test_a_rehearsal_shows_the_change_and_leaves_nothing(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        said = str(tell(target, lambda session: transaction.rehearse(session, given)))
        assert '"path": "/VLAN_INTERFACE/Vlan2|fc00:' in said
        assert "ipv6 prefix-list local seq 5 permit fc00::/16" in said
        assert all("dry" in one for one in box.log)
        assert box.running == was
        assert not box.left


def test_a_change_is_kept_when_it_is_confirmed_from_another_login(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        tell(target, commits(given))
        assert box.log[0] == f"config checkpoint {LABEL}"
        waiting = tell(target, transaction.pending)
        assert isinstance(waiting, Pending)
        assert waiting.label == LABEL
        assert waiting.seconds is not None
        assert waiting.seconds <= 600
        assert box.running == wanted(given)
        assert box.saved == was
        tell(target, lambda session: transaction.confirm(session, LABEL))
        tell(target, lambda session: transaction.clear(session, LABEL))
        assert tell(target, transaction.pending) is None
        assert box.running == box.saved == wanted(given)
        assert not box.left


def test_a_change_that_waits_is_taken_back(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        tell(target, commits(given))
        with pytest.raises(RefusedError, match=f"{LABEL} waits to be confirmed there already"):
            tell(target, commits(given))
        tell(target, lambda session: transaction.revert(session, LABEL))
        assert box.running == box.saved == was
        assert tell(target, transaction.pending) is None
        with pytest.raises(RefusedError, match="it is not waiting any more"):
            tell(target, lambda session: transaction.confirm(session, LABEL))
        tell(target, lambda session: transaction.clear(session, LABEL))
        assert not box.left


def test_nothing_waits_after_a_restart(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        tell(target, commits(given))
        box.restart()
        assert box.running == was
        assert tell(target, transaction.pending) is None
        with pytest.raises(RefusedError, match="it is not waiting any more"):
            tell(target, lambda session: transaction.confirm(session, LABEL))
        tell(target, lambda session: transaction.clear(session, LABEL))
        assert not box.left


def test_a_change_that_nobody_confirms_goes_back_by_itself(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        box.scale = 0.005
        with suppress(RefusedError):  # a slow machine has not even ended the change by then
            tell(target, commits(given))
        end = time.monotonic() + 120
        while box.waits and time.monotonic() < end:
            time.sleep(0.05)
        assert not box.waits
        assert box.running == box.saved == was


@pytest.mark.parametrize("file", [TABLES, ROUTING])
def test_what_is_refused_leaves_nothing(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    with leaf(given, monkeypatch) as (box, target):
        box.refuses = "/VLAN_INTERFACE" if file == TABLES else "ipv6 nd prefix"
        was = box.running
        said = "not valid" if file == TABLES else "Unknown command: *ipv6 nd prefix"
        for verb in (lambda session: transaction.rehearse(session, given), commits(given)):
            with pytest.raises(RefusedError, match=said):
                tell(target, verb)
            assert not box.waits
            assert box.running == box.saved == was


def test_a_patch_that_breaks_half_way_is_taken_back(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        box.breaks_after = 2
        with pytest.raises(RefusedError, match="was not carried out"):
            tell(target, commits(given))
        assert f"config rollback {LABEL}" in box.log
        assert box.running == box.saved == was
        assert not box.waits


def test_tables_go_back_where_routing_is_not_taken(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        box.late = "ipv6 prefix-list own-blue"
        with pytest.raises(RefusedError, match="Unknown command: ipv6 prefix-list own-blue"):
            tell(target, commits(given))
        assert box.running == box.saved == was
        assert not any("restart" in one or "reload" in one for one in box.log)
        assert not box.waits


def test_routing_starts_anew_where_its_lines_cannot_be_undone(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        tell(target, commits(given))
        box.late = "ipv6 prefix-list own-blue seq 5 permit fd00"
        tell(target, lambda session: transaction.revert(session, LABEL))
        assert "systemctl restart bgp" in box.log
        assert box.running == box.saved == was


def test_what_the_patch_tool_does_not_take_goes_in_by_a_reload(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``change`` plans it, and says that it disrupts everything."""
    new = json.loads(given.target[TABLES])
    name = next(iter(new["BUFFER_POOL"]))
    new["BUFFER_POOL"][name]["mode"] = "dynamic" if new["BUFFER_POOL"][name]["mode"] == "static" else "static"
    made = change(LEAF, "sonic", given.before, {TABLES: json.dumps(new), ROUTING: given.target[ROUTING]}, None)
    assert not made.refused
    assert list(made.commands[TABLES]) == ["config reload -y config_db.json"]
    assert [(one.what, one.statement) for one in made.disrupts if one.what == "everything"] == [
        ("everything", f"BUFFER_POOL / {name} / mode")
    ]
    whole = replace(given, commands=made.commands, target=made.target)
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        assert "config reload" in str(tell(target, lambda session: transaction.rehearse(session, whole)))
        assert all("dry" in one for one in box.log)
        tell(target, commits(whole))
        assert box.running == wanted(whole)
        assert box.saved == was
        tell(target, lambda session: transaction.revert(session, LABEL))
        assert box.running == box.saved == was
        tell(target, commits(whole))
        tell(target, lambda session: transaction.confirm(session, LABEL))
        assert box.running == box.saved == wanted(whole)
        tell(target, lambda session: transaction.clear(session, LABEL))
        tell(target, lambda session: transaction.restore(session, whole))
        assert box.running == box.saved == was


def test_a_reload_that_loses_the_routing_goes_back_and_says_what_to_do(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A switch that comes up without ``frr.conf``, or whose FRRouting starts without it, once."""
    whole = replace(
        given, commands={TABLES: ("config reload -y config_db.json",)}, target={TABLES: given.before[TABLES]}
    )
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        box.scale = 0.001
        questions = list[str]()

        def empty(words: str) -> None:
            if words.startswith("config reload"):
                questions.append(words)
            elif questions and words.startswith("vtysh -c show running"):
                questions.append(words)
                saved = (box.folder / "etc/frr/frr.conf").read_text()
                box.frr = "frr version 8.5\n" if len(questions) < 26 else saved

        box.before = empty
        with pytest.raises(RefusedError, match=r"FRRouting runs no BGP after the reload: .*sudo systemctl restart bgp"):
            tell(target, commits(whole))
        assert not box.waits
        assert box.saved == was


def test_a_confirmation_that_broke_off_goes_back_with_what_it_wrote(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        tell(target, commits(given))

        def broken(words: str) -> None:
            if words == "vtysh -c write memory":
                raise OSError

        box.before = broken
        with pytest.raises(RefusedError):
            tell(target, lambda session: transaction.confirm(session, LABEL))
        assert box.waits
        assert box.saved != was
        tell(target, lambda session: transaction.revert(session, LABEL))
        assert box.running == box.saved == was


def test_lines_that_would_not_last_are_refused(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = json.loads(given.before[TABLES])
    tables["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] = "unified"
    before = {**given.before, TABLES: json.dumps(tables)}
    with leaf(given, monkeypatch) as (box, target):
        for verb in (transaction.rehearse, lambda session, given: transaction.commit(session, given, 600)):
            with pytest.raises(RefusedError, match="would not last: docker_routing_config_mode is unified"):
                tell(target, lambda session, verb=verb: verb(session, replace(given, before=before)))
        assert not box.log
        assert not box.left


def test_what_is_half_done_is_restored(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        was = box.running
        box.frr = given.target[ROUTING]
        box.tables["VLAN_INTERFACE"].popitem()
        tell(target, lambda session: transaction.restore(session, given))
        assert box.running == box.saved == was


def test_enterprise_sonic_is_refused_with_the_files_to_load_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "fabric.yaml"
    path.write_text(of_sonic(SMALL).replace("nos: sonic", "nos: dell_sonic"))
    network = api.load(path)
    plan = make_plan(path, network, Answers({one.name: {} for one in network.switches}))
    assert not plan.changed
    assert len(plan.refused) == len(network.switches)
    files = [name for name in system("dell_sonic").files(device_config(network, LEAF)) if name.endswith(".cli")]
    assert files
    assert all(f"devices/{LEAF}/{name}" in " ".join(plan.refused) for name in files)
    write_file(tmp_path / "plan.json", json.dumps(plan.to_json()), private=True)
    with pytest.raises(InputError, match="refused"):
        deploy_apply(tmp_path / "plan.json")
    running = texts(network)
    assert not make_plan(path, network, Answers(running)).refused  # a switch that runs its design needs nothing
    running[LEAF] = running[LEAF] | {"sonic.cli": running[LEAF]["sonic.cli"].replace("mtu 9", "mtu 8", 1)}
    (refused,) = make_plan(path, network, Answers(running)).refused
    assert refused.startswith(f"{LEAF}: ")
