"""A device on which another release is put: what its system is told, in sessions of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from railweave.errors import InputError, NetworkPart, Problem
from railweave.live.reach.failure import ReachError
from railweave.systems import system
from railweave.systems.transaction import RefusedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from railweave.live.reach.target import Target
    from railweave.live.site.protocol import Machine
    from railweave.live.site.site import Site
    from railweave.systems.installation import Image, Installation
    from railweave.systems.transaction import Session, Spoken

T = TypeVar("T")


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
            from railweave.live.reach.copying import copied
            from railweave.operations.deploy.upgrade import digests

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


def machine(site: Site, device: str, seconds: float) -> Machine:
    """The machine of a switch, whose answers may take so many seconds. Raises ``InputError`` if nothing installs releases of its system."""
    if site.machine is not None:
        return site.machine(device)
    asked = site.asked[device]
    upgrade = system(asked.system).upgrade
    if upgrade is None or upgrade.BY_HAND:
        without = system(asked.system).without
        what = upgrade.BY_HAND if upgrade else f"nothing here installs releases of {asked.system}: {without['upgrade']}"
        raise InputError([Problem(NetworkPart(device), what, "")])
    return Switch(asked.target, upgrade, site.change_by, seconds)
