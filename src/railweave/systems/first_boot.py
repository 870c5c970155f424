"""First boot of a new device: the classes that the ``first_boot`` modules of all operating systems share.

A device that starts without a configuration requests an address by DHCP (RFC 2131) and identifies itself in the
request. The DHCP server's answer contains the URL of its files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class SerialOption:
    """The DHCP option in which a device sends its serial number: the text of option ``number``, after the prefix ``before``.

    ``vendor`` is the prefix of the device's option 60 (vendor class identifier); empty means any. ``whole`` is True if the
    option contains only the serial number.
    """

    number: int
    before: str = ""
    vendor: str = ""
    whole: bool = False


@dataclass(frozen=True)
class Image:
    """An image of an operating system: its file name, its URL, and its SHA-256 in hexadecimal digits."""

    name: str
    url: str
    sha256: str


@dataclass(frozen=True)
class Place:
    """The HTTP server from which a device downloads its files, and the image to install.

    ``url`` is the URL of the device's folder. ``server``, ``port`` and ``path`` are the host, the port and the path in that URL.
    """

    url: str
    server: str
    port: int
    path: str
    image: Image | None = None


@dataclass(frozen=True)
class Options:
    """The values that the DHCP server sends to a device, by option number.

    - ``bootfile``: option 67.
    - ``server_name``: option 66.
    - ``tftp_server``: option 150, an address.
    - ``vendor``: the texts of option 43, by sub-option.
    """

    bootfile: str = ""
    server_name: str = ""
    tftp_server: str = ""
    vendor: Mapping[int, str] = field(default_factory=dict[int, str])


class Login(Protocol):
    """A user account, with its ``role``, a reference to its password hash, and its public SSH keys."""

    @property
    def role(self) -> str:
        """The role of the user: ``super-user``, ``operator`` or ``read-only``."""
        ...

    @property
    def password(self) -> str | None:
        """The reference ``secret:NAME`` to a crypt(3) hash, or None for a user without a password."""
        ...

    @property
    def ssh_keys(self) -> tuple[str, ...]:
        """The public SSH keys, each as a line of the file authorized_keys."""
        ...


def quoted(text: str) -> str:
    """Return a text quoted as one word for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def logins(users: Mapping[str, Login], root_password: str | None, groups: str) -> str:
    """Return shell lines that create users, with their keys, on a Linux system. ``root_password`` is a password hash, or None.

    ``groups`` are the groups of a super-user, separated by commas as for useradd.
    """
    lines: list[str] = []
    for name, user in users.items():
        member = f" -G {groups}" if user.role == "super-user" and groups else ""
        lines += [f"id {name} > /dev/null 2>&1 || useradd -m -s /bin/bash{member} {name}"]
        if user.password:
            lines += [f"usermod -p '<{user.password}>' {name}"]
        if user.ssh_keys:
            lines += [
                f"home=$(getent passwd {name} | cut -d: -f6)",
                f'install -d -m 700 -o {name} "$home/.ssh"',
                f"printf '%s\\n' {' '.join(quoted(ssh_key) for ssh_key in user.ssh_keys)} > \"$home/.ssh/authorized_keys\"",
                f'chown {name} "$home/.ssh/authorized_keys" && chmod 600 "$home/.ssh/authorized_keys"',
            ]
        if user.role == "super-user":
            lines += [
                f"echo '{name} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/railweave-{name}",
                f"chmod 440 /etc/sudoers.d/railweave-{name}",
            ]
    if root_password:
        lines += [f"usermod -p '<{root_password}>' root"]
    return "".join(f"{line}\n" for line in lines)


def fetched(image: Image, to: str) -> str:
    """Return shell lines that download an image to the file ``to``, and exit with 1 if the checksum does not match."""
    return (
        f"curl -fsS -o {to} {quoted(image.url)} || exit 1\n"
        f"echo '{image.sha256}  {to}' | sha256sum -c - || {{ rm -f {to}; echo 'the image has another checksum' >&2; exit 1; }}\n"
    )
