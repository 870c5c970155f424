"""EOS changed by eAPI: the verbs of its transaction on a stand-in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from railweave import api
from railweave.analysis.checks.devices import saved
from railweave.live.reach.change_session import opened
from railweave.live.reach.target import PORTS, MachineLogin, Password, Target
from railweave.model.device.build import device_config
from railweave.operations.deploy.changes import change
from railweave.systems import system
from railweave.systems.eos import transaction
from railweave.systems.transaction import ChangeRequest, RefusedError, Session
from tests.live.reach.stand_ins import PASSWORD, USER, stand_ins
from tests.operations.deploy.eos_box import EosBox, lines_of
from tests.operations.deploy.test_rollout import OTHER, SMALL

LEAF = "stripe1-leaf1"
LABEL = "railweave-small-1-abcdef"


def text_of(folder: Path, fabric: str) -> str:
    path = folder / "fabric.yaml"
    path.write_text(fabric.replace("qfx5240-64od, nos: junos", "arista-7060x6-64pe, nos: eos"))
    return system("eos").files(device_config(api.load(path), LEAF))["eos.conf"]


@pytest.fixture
def given(tmp_path: Path) -> ChangeRequest:
    """What turns a leaf of one design into that of another."""
    before, wanted = text_of(tmp_path, OTHER), text_of(tmp_path, SMALL)
    network = api.load(tmp_path / "fabric.yaml")
    own = saved({LEAF: device_config(network, LEAF)}, {LEAF: {"eos.conf": before}})
    made = change(LEAF, "eos", {"eos.conf": before}, {"eos.conf": wanted}, lambda: own[LEAF])
    assert made.commands["eos.conf"]
    assert not made.refused
    return ChangeRequest(LABEL, made.commands, made.target, {"eos.conf": before})


@contextmanager
def leaf(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch, scale: float = 1) -> Iterator[tuple[EosBox, Target]]:
    monkeypatch.setenv("READER", PASSWORD)
    with stand_ins() as devices:
        box = EosBox(given.before["eos.conf"], scale=scale)
        port = devices.web({}, commands=box).port
        way = MachineLogin("127.0.0.1", USER, {**PORTS, "eapi": port}, password=Password("env", "READER"), tls=False)
        yield box, Target(LEAF, ("eapi",), way)


def tell(target: Target, work: Callable[[Session], Awaitable[object]]) -> object:
    async def run() -> object:
        session = await opened(target, "eapi")
        try:
            return await work(session)
        finally:
            await session.close()

    return asyncio.run(run())


def test_a_rehearsal_shows_the_change_and_leaves_nothing(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        said = tell(target, lambda session: transaction.rehearse(session, given))
        assert "fd00:" in str(said)
        assert "fc00:" in str(said)
        assert box.running == given.before["eos.conf"]
        assert not box.sessions


def test_a_change_is_kept_when_it_is_confirmed_from_another_login(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leaf(given, monkeypatch) as (box, target):
        tell(target, lambda session: transaction.commit(session, given, 600))
        waiting = tell(target, transaction.pending)
        assert waiting is not None
        assert getattr(waiting, "label", "") == LABEL
        assert lines_of(box.running) == lines_of(given.target["eos.conf"])
        tell(target, lambda session: transaction.confirm(session, LABEL))
        assert not box.waits
        assert lines_of(box.saved) == lines_of(given.target["eos.conf"])


def test_a_change_that_waits_is_taken_back(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (box, target):
        tell(target, lambda session: transaction.commit(session, given, 600))
        tell(target, lambda session: transaction.revert(session, LABEL))
        assert box.running == given.before["eos.conf"]
        assert tell(target, transaction.pending) is None
        with pytest.raises(RefusedError, match="does not wait to be confirmed"):
            tell(target, lambda session: transaction.confirm(session, LABEL))


def test_a_change_that_nobody_confirms_goes_back_by_itself(
    given: ChangeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leaf(given, monkeypatch, scale=0.001) as (box, target):
        tell(target, lambda session: transaction.commit(session, given, 600))
        end = time.monotonic() + 60
        while box.waits and time.monotonic() < end:
            time.sleep(0.05)
        assert box.running == given.before["eos.conf"]


def test_a_line_that_is_refused_leaves_no_session(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ChangeRequest(LABEL, {"eos.conf": ["nonsense that EOS does not know"]}, given.target, given.before)
    with leaf(given, monkeypatch) as (box, target):
        for verb in (
            lambda session: transaction.rehearse(session, wrong),
            lambda session: transaction.commit(session, wrong, 60),
        ):
            with pytest.raises(RefusedError, match="nonsense"):
                tell(target, verb)
        assert not box.sessions
        assert box.running == given.before["eos.conf"]


def test_a_second_change_is_refused_while_one_waits(given: ChangeRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with leaf(given, monkeypatch) as (_, target):
        tell(target, lambda session: transaction.commit(session, given, 600))
        with pytest.raises(RefusedError, match=f"waits to be confirmed there already .{LABEL}"):
            tell(target, lambda session: transaction.commit(session, given, 600))
