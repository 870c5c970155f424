"""A device of a plan during its change: its sessions, its running configuration, and the steps of the change."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from railweave.analysis.checks.causes import statement
from railweave.live.reach.failure import ReachError, readable_answers
from railweave.model.config.compare import compare
from railweave.operations.deploy import changes
from railweave.operations.deploy.changes import DeviceChange, digest, innermost, statements
from railweave.systems.transaction import ChangeRequest, Pending, RefusedError, Session, Spoken, Transaction

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from railweave.model.config.tree import ConfigTree

    Open = Callable[[str, Spoken], Awaitable[Session]]
    """A function that opens a session with a device by a protocol."""


T = TypeVar("T")


@dataclass
class Device:
    """A device whose configuration is being changed.

    - ``change``: the planned change of the device. It contains references to secrets.
    - ``given``: the same change with the values of secrets filled in, and with the configuration before the change.
    - ``open_by``: a function that opens a session which may change the device.
    - ``attempts``: the largest number of attempts to reach the device.
    """

    change: DeviceChange
    given: ChangeRequest
    open_by: Open
    attempts: int = 3
    untouched: bool = False
    """True if the device rejected the whole change, so that nothing has to be restored."""

    @property
    def transaction(self) -> Transaction:
        """The module that tests, commits, confirms and rolls back changes on the device's operating system.

        Every device of an accepted plan has such a module, because a plan that changes any other device is refused.
        """
        transaction = changes.transaction(self.change.system)
        assert transaction is not None  # noqa: S101 - a plan with such a device is refused, and never comes here
        return transaction

    async def _with(self, work: Callable[[Session], Awaitable[T]], *, attempts: int) -> T:
        """Call ``work`` with a new session, and return its result. If the device cannot be reached, try again; ``attempts`` is the largest number of attempts.

        Raises ``UnreadableError`` for an answer that is not understood.
        """
        for attempt in range(1, attempts + 1):
            try:
                with readable_answers():
                    return await self._once(work)
            except ReachError as error:
                if not error.again or attempt == attempts:
                    raise
                await asyncio.sleep(min(2 ** (attempt - 1), 10))
        raise AssertionError

    async def _once(self, work: Callable[[Session], Awaitable[T]]) -> T:
        session = await self.open_by(self.change.device, self.transaction.PROTOCOL)
        try:
            return await work(session)
        finally:
            await session.close()

    async def running(self) -> dict[str, str]:
        """Return the running texts of the device by file name, limited to the files of the plan."""
        texts = await self._with(self.transaction.running, attempts=self.attempts)
        return {file: texts[file] for file in self.change.before if file in texts}

    async def pending(self) -> Pending | None:
        """Return the change that waits for confirmation on the device, or None."""
        return await self._with(self.transaction.pending, attempts=self.attempts)

    async def rehearse(self) -> str:
        """Test the change on the device without activating it. Return the differences that the device shows."""
        return await self._with(lambda session: self.transaction.rehearse(session, self.given), attempts=self.attempts)

    async def commit(self, seconds: int) -> None:
        """Activate the change, with a rollback timer of ``seconds`` seconds. Raises ``RefusedError`` if the device rejects it.

        A commit is never repeated. After a lost session, the caller reads the state of the device.
        """
        try:
            await self._with(lambda session: self.transaction.commit(session, self.given, seconds), attempts=1)
        except RefusedError:
            self.untouched = self.transaction.ATOMIC
            raise

    async def confirm(self) -> None:
        """Confirm the committed change on the device, which stops its rollback timer."""
        label = self.given.label

        async def work(session: Session) -> None:
            waiting = await self.transaction.pending(session)
            kept = waiting is None and self.same(await self.transaction.running(session), self.given.target)
            if not kept:  # otherwise an earlier attempt was done, and its answer lost
                await self.transaction.confirm(session, label)
            await self.transaction.clear(session, label)

        await self._with(work, attempts=self.attempts)

    async def go_back(self) -> None:
        """Restore the earlier configuration, at any stage of the change. Changes of other users are not undone.

        Raises ``ReachError`` if the device cannot be reached, and ``RefusedError`` if its configuration is neither the
        one before nor the one after this change.
        """
        if self.untouched:
            return

        async def work(session: Session) -> None:
            changed_by, label = self.transaction, self.given.label
            waiting = await changed_by.pending(session)
            if waiting is not None and waiting.label != label:
                raise RefusedError("a change by another user waits there for confirmation: nothing was done")
            if waiting is not None:
                await changed_by.revert(session, label)
            running = await changed_by.running(session)
            if not self.as_before(running):
                if changed_by.ATOMIC and not self.same(running, self.given.target):
                    raise RefusedError(
                        "its configuration is neither the one before the change nor the one after it: another user has changed it"
                    )
                await changed_by.restore(session, self.given)
            await changed_by.clear(session, label)

        await self._with(work, attempts=self.attempts)

    def as_before(self, texts: Mapping[str, str]) -> bool:
        """Return True if texts match the configuration that the device had before its change.

        If that configuration was not saved yet, compare the texts with the configuration on which the plan is based.
        """
        return self.same(texts, self.given.before) if self.given.before else not self.moved(texts)

    def moved(self, texts: Mapping[str, str]) -> bool:
        """Return True if ``texts`` (the running files) differ from the texts on which the plan is based."""
        return any(self._digest(file, texts.get(file, "")) != digest for file, digest in self.change.before.items())

    def changed_by_others(self, texts: Mapping[str, str]) -> list[str]:
        """Return the statements of a device that someone has changed since the plan was made.

        ``texts`` are the device's running texts. Each line has a sign: ``+`` for a statement that the device has in addition to its
        configuration after the change, ``-`` for one that it lacks, and ``~`` for a different value. Changes of the plan itself are left
        out.
        """
        lines: list[str] = []
        for file in self.change.commands:
            rest = compare(self._tree(file, texts.get(file, "")), self._tree(file, self.given.target[file]))
            inner = {statement(step, step.node): innermost(step) for step in rest.steps}
            for line in statements(rest):
                if line not in self.change.shown:
                    sign, _, words = line.partition(" ")
                    signs = {"+": "-", "-": "+"}
                    lines += [
                        f"{signs.get(sign, sign)} {each}"
                        for each in inner.get(words, [words.replace("(was ", "(now ")])
                    ]
        lines += [
            f"~ {file}"
            for file, digest in self.change.before.items()
            if file not in self.change.commands and self._digest(file, texts.get(file, "")) != digest
        ]
        return lines

    def same(self, texts: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
        """Return True if ``texts`` equal ``wanted``, in the files that change. Both are by file. Secrets that a device hashes are not compared."""
        return not self.missing(texts, wanted)

    def missing(self, texts: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
        """Return the statements that differ between ``texts`` and ``wanted``, each by its path in the configuration."""
        paths: list[str] = []
        for file in self.change.commands:
            text = texts.get(file, "")
            if text == wanted[file]:
                continue
            now = self._tree(file, text)
            if wanted is self.given.target and digest(now.nodes) == self.change.after[file]:
                continue  # without reading the other
            paths += [step.path for step in compare(now, self._tree(file, wanted[file])).steps]
        return paths

    def _digest(self, file: str, text: str) -> str:
        return digest(self._tree(file, text).nodes)

    def _tree(self, file: str, text: str) -> ConfigTree:
        return changes.tree(self.change.system, self.change.device, file, text)

    def from_now(self, before: Mapping[str, str]) -> Device:
        """Return a copy of this device with ``before`` as the configuration to restore."""
        return replace(self, given=replace(self.given, before=dict(before)))
