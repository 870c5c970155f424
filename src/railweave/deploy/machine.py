"""A device on which another release is put: what its system is told, in sessions of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from railweave.errors import InputError, NetworkPart, Problem
from railweave.reach.failure import ReachError
from railweave.systems import system
from railweave.systems.transaction import RefusedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from railweave.collect.plan import Asked
    from railweave.reach.target import Target
    from railweave.state.question import Protocol as Spoken
    from railweave.systems.installation import Image, Installation
    from railweave.systems.transaction import Session

T = TypeVar("T")


class Machine(Protocol):
    """What an upgrade asks of a device; see ``systems.installation``. Verbs raise ``RefusedError`` and ``ReachError``."""

    async def boot(self) -> str:
        """What tells one start from the next."""
        ...

    async def install(self, image: Image) -> None:
        """Bring the image there, and install it for the next start."""
        ...

    async def restart(self) -> None:
        """Restart it; that the connection ends is no error."""
        ...


@dataclass(frozen=True)
class Switch:
    """A switch that is reached by its system's own protocol."""

    target: Target
    installation: Installation
    open_by: Callable[[Target, Spoken], Awaitable[Session]]
    seconds: float

    async def _with(self, work: Callable[[Session], Awaitable[T]], seconds: float = 0) -> T:
        target = replace(self.target, answer_s=max(seconds, self.target.answer_s))
        session = await self.open_by(target, self.installation.PROTOCOL)
        try:
            return await work(session)
        finally:
            await session.close()

    async def boot(self) -> str:
        """By its system's own question."""
        return await self._with(self.installation.boot)

    async def install(self, image: Image) -> None:
        """Copy the image where it is a file of this machine, then install it. Raises ``RefusedError`` also where the file is another now."""
        if image.file:
            from railweave.deploy.upgrade import digests
            from railweave.reach.copying import copied

            if digests(Path(image.file)) != (image.sha256, image.sha512):
                raise RefusedError(f"{image.file} is another file than when the plan was made")
            await copied(replace(self.target, answer_s=self.seconds), Path(image.file), image.source)
        await self._with(lambda session: self.installation.install(session, image), self.seconds)

    async def restart(self) -> None:
        """A device that restarts ends the session, before or after its answer."""
        try:
            await self._with(self.installation.restart)
        except ReachError as error:
            if error.kind not in {"lost", "late"}:
                raise


def installing(asked: Asked, open_by: Callable[[Target, Spoken], Awaitable[Session]], seconds: float) -> Switch:
    """How another release is put on a switch. Raises ``InputError`` where nothing here knows."""
    found = system(asked.system).upgrade
    if found is None or found.BY_HAND:
        what = (
            found.BY_HAND
            if found
            else f"nothing here installs releases of {asked.system}: {system(asked.system).without['upgrade']}"
        )
        raise InputError([Problem(NetworkPart(asked.target.name), what, "")])
    return Switch(asked.target, found, open_by, seconds)
