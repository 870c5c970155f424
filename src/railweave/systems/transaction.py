"""Verbs by which a change is made on a running device, in a system's module ``transaction``; and a timer of machines without confirmed commit.

Nothing here knows what is changed or why. The caller has recorded the change beforehand (``operations.deploy.journal``).
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from railweave.errors import RailweaveError
from railweave.model.config.gate import hidden
from railweave.reading import CONTROL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.config.tree import Command


Spoken = Literal["ssh", "netconf", "eapi"]
"""The protocol by which a device is told."""


class RefusedError(RailweaveError):
    """A device does not do what it is told: ``what`` is why, in one line, without the values of secrets."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.what = CONTROL.sub("?", hidden(" ".join(reason.split())))[:300]

    def __str__(self) -> str:
        return self.what


class Session(Protocol):
    """An open connection to one device that may change it."""

    async def tell(self, words: str, given: str = "") -> str:
        """Return the device's answer. Raises ``RefusedError`` if the device refuses, and ``ReachError`` if it is lost.

        By SSH and in a lab ``words`` are a command, and ``given`` is its input. By NETCONF they are the body of a remote procedure
        call; with ``text`` given, the answer is the text inside the reply. By eAPI they are lines, each a command, and the answer is a
        JSON list of what each printed, or, with ``json`` given, of their JSON.
        """
        ...

    async def close(self) -> None:
        """End it; never raises."""
        ...


@dataclass(frozen=True)
class Given:
    """The change that a device is given. ``commands`` make the change, ``target`` is the whole configuration after it, ``before`` the one it has: by file.

    ``label`` is what the change is called on the device: it begins with ``railweave-`` and is one word.
    """

    label: str
    commands: Mapping[str, Sequence[Command]]
    target: Mapping[str, str]
    before: Mapping[str, str]


@dataclass(frozen=True)
class Pending:
    """A change that a device takes back by itself unless it is confirmed: its label (empty: not ours) and the seconds left, if it says so."""

    label: str
    seconds: int | None = None


def must_wait(waiting: Pending | None, label: str) -> None:
    """Raise ``RefusedError`` where what waits on a device is not the change of that label."""
    if waiting is None or waiting.label != label:
        raise RefusedError(f"{label} does not wait to be confirmed there any more")


class Transaction(Protocol):
    """The verbs of a system's module ``transaction``. Every verb raises ``RefusedError`` if the device refuses, and ``ReachError`` if it is lost.

    A device is changed by ``commit`` alone, which arms the way back on the device itself before anything is in force.
    """

    @property
    def PROTOCOL(self) -> Spoken:  # noqa: N802 - a constant of the module
        """The protocol by which the device is told."""
        ...

    @property
    def ATOMIC(self) -> bool:  # noqa: N802
        """True if the device takes a change as a whole or not at all: nothing is ever half done there."""
        ...

    @property
    def FILES(self) -> Mapping[str, str]:  # noqa: N802
        """The renderer's file that holds what each question for the running configuration is answered with."""
        ...

    @property
    def WHOLE(self) -> Mapping[str, Command]:  # noqa: N802
        """By file, the command that puts the whole of it in force where the device refuses single changes. It disrupts everything."""
        ...

    async def running(self, session: Session) -> dict[str, str]:
        """The texts of the running configuration, by file name as the renderer has them."""
        ...

    async def rehearse(self, session: Session, given: Given) -> str:
        """Load the change where it is not in force, let the device check it, and discard it. What the device says it would change."""
        ...

    async def commit(self, session: Session, given: Given, seconds: int) -> None:
        """Put the change in force for so many seconds: unless it is confirmed by then, the device goes back by itself."""
        ...

    async def pending(self, session: Session) -> Pending | None:
        """The change that waits to be confirmed; None: none does."""
        ...

    async def confirm(self, session: Session, label: str) -> None:
        """Keep a change that waits, over a restart too."""
        ...

    async def revert(self, session: Session, label: str) -> None:
        """Go back at once from a change that waits."""
        ...

    async def restore(self, session: Session, given: Given) -> None:
        """Put ``before`` in force, whatever is in force now: the way back from what is half done."""
        ...

    async def clear(self, session: Session, label: str) -> None:
        """Remove what a change that is over left on the device: candidates, sessions, files."""
        ...


ROOT = """if [ "$(id -u)" = 0 ]; then exec sh -c "$0" "$@"; else exec sudo -n sh -c "$0" "$@"; fi"""
"""Runs a script, its first argument, as root; ``sudo`` must ask for no password."""

FUNCTIONS = """root=${RAILWEAVE_DEPLOY_FOLDER:-/var/lib/railweave/deploy}
label=$1 folder=$root/$1
machine() { [ -z "$RAILWEAVE_LAB" ] && [ -d "${RAILWEAVE_SYSTEMD_FOLDER:-/run/systemd/system}" ]; }
boot() { cat /proc/sys/kernel/random/boot_id; }
armed() { grep -qs "$(boot)" "$1/armed"; }
alone() { mkdir -p "$folder" && exec 9> "$folder/lock" && flock 9; }
nothing_waits() {
  for one in "$root"/*; do
    if armed "$one"; then echo "$(basename "$one") waits to be confirmed there already" >&2; return 1; fi
  done
}
arm() {
  echo "$(($(date +%s) + $1)) $(boot)" > "$folder/armed" || return 1
  if machine; then
    systemd-run --quiet --collect --timer-property=AccuracySec=1s --unit="$label" --on-active="$1" sh "$folder/back.sh" "$label" ||
      { rm -f "$folder/armed"; return 1; }
  else
    setsid sh -c 'echo $$ > "$3/timer"; sleep "$2"; exec sh "$3/back.sh" "$1"' "$label" "$label" "$1" "$folder" > /dev/null 2>&1 < /dev/null 9>&- &
  fi
}
disarm() {
  if machine; then systemctl stop "$label.timer" 2> /dev/null
  elif grep -qs "$label" "/proc/$(cat "$folder/timer")/cmdline"; then kill -- "-$(cat "$folder/timer")"; fi; true
}
"""
"""``$1`` is the change's label. ``armed FOLDER``: that change waits. ``arm SECONDS`` writes ``armed`` and starts the timer; ``disarm`` stops it; ``alone`` waits until nothing else is at work on this change."""

_PENDING = """for one in "$root"/*; do
  if armed "$one"; then echo "$(basename "$one") $(($(cut -d' ' -f1 "$one/armed") - $(date +%s)))"; fi
done
"""
_PUT = 'mkdir -p "$folder" && cat > "$folder/$2"'


async def script(session: Session, text: str, label: str = "-", *more: object, given: str = "") -> str:
    """Run a script as root. Its first argument is the label, then come ``more``; ``given`` is its input. Raises ``RefusedError``, ``ReachError``."""
    return await session.tell(shlex.join(["sh", "-c", ROOT, text, "railweave", label, *map(str, more)]), given)


async def put(session: Session, start: str, label: str, name: str, text: str) -> None:
    """Write a file into the folder of a change. ``start`` begins with, or has, ``FUNCTIONS``."""
    await script(session, start + _PUT, label, name, given=text)


async def pending(session: Session, start: str = FUNCTIONS) -> Pending | None:
    """Return the change whose way back is armed; None where no change is. ``start`` begins with, or has, ``FUNCTIONS``."""
    words = (await script(session, start + _PENDING)).split()
    return Pending(words[0], int(words[1])) if len(words) > 1 else None
