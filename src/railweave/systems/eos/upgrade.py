"""Upgrades of EOS: copy the image to flash, check its checksum, then ``boot system``, ``write memory`` and ``reload now`` (Arista EOS user manual, Upgrades)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from railweave.reading import parse_json
from railweave.systems.transaction import RefusedError, Session

if TYPE_CHECKING:
    from railweave.systems.installation import Image

PROTOCOL = "eapi"
FOLDER = "/mnt/flash"
BY_RELEASE = False
BY_HAND = ""
_SHA512 = re.compile(r"\b[0-9a-f]{128}\b")


def commands(image: Image) -> list[str]:
    """Return the commands by which an operator installs ``image`` and restarts the switch, for the CLI of EOS in privileged mode."""
    there = f"flash:{image.name}"
    fetched = [f"verify /sha512 {there}"] if image.file else [f"copy {image.source} {there}"]
    return [*fetched, "configure", f"boot system {there}", "end", "write memory", "reload now"]


async def boot(session: Session) -> str:
    """Return the time of the last boot by the device's own clock, in Unix seconds.

    Two queries may return values that differ by fractions of a second.

    Raises ``RefusedError`` if the device does not report the time. ``session`` is the connection to the device.
    """
    answer = cast("object", parse_json(await session.execute("show version", "json"))[-1])
    booted = cast("dict[str, object]", answer).get("bootupTimestamp") if isinstance(answer, dict) else None
    if not isinstance(booted, int | float):
        raise RefusedError("it does not say when it was started")
    return str(booted)


async def install(session: Session, image: Image) -> None:
    """Download the image or, if the image was copied, check its checksum. Then configure the switch to boot this image.

    Raises ``RefusedError`` if the checksum differs, if the download fails, or if the next start would not boot the image. ``session`` is
    the connection to the device.
    """
    fetch, *rest = commands(image)[:-1]
    answer = cast("list[str]", parse_json(await session.execute(fetch)))[-1]
    if image.file:
        match = _SHA512.search(answer)
        if match is None or match[0] != image.sha512:
            raise RefusedError(
                f"the SHA-512 of {image.name} in flash is {match[0][:16] if match else 'not said'}…, not {image.sha512[:16]}…"
            )
    elif "%" in answer or "error" in answer.lower():
        raise RefusedError(f"{image.source} was not fetched: {answer}")
    await session.execute("\n".join(rest))
    shown = cast("list[str]", parse_json(await session.execute("show boot-config")))[-1]
    if image.name not in shown:
        raise RefusedError(f"it would not boot {image.name}: {shown}")


async def restart(session: Session) -> None:
    """Restart the switch without asking for confirmation (``reload now``). ``session`` is the connection to the device."""
    await session.execute("reload now")
