"""What is said of one peer group or neighbor of BGP, and the forms of the lines that say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.device.management import Authentication
from railweave.model.device.timers import Bfd
from railweave.systems.eos.read.values import as_number, number, secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.config.sections import SectionReader, SelectedLine

EOS_BFD = Bfd(minimum_interval=300, multiplier=3)
"""What EOS asks of a neighbor that says nothing else (EOS user manual, "bfd interval")."""

_ONE_HOP = (
    ("router bfd", "interval <interval> min-rx <receive> multiplier <times> default"),
    ("bfd interval <interval> min-rx|min_rx <receive> multiplier <times> default",),
)
_MULTIHOP = (
    ("router bfd", "multihop interval <interval> min-rx <receive> multiplier <times>"),
    ("bfd multihop interval <interval> min-rx|min_rx <receive> multiplier <times>",),
)


@dataclass
class Settings:
    """What is said of a peer group or neighbor; None and empty: nothing is."""

    group: str = ""
    remote_as: int | None = None
    local_as: int | None = None
    description: str = ""
    imports: str = ""
    exports: str = ""
    bfd: bool | None = None
    timers: Bfd | None = None
    one_hop: bool = False
    key: Authentication | None = None
    source: str = ""
    unchanged: bool = False
    shutdown: bool = False
    active: dict[str, bool] = field(default_factory=dict[str, bool])
    evpn_out: str = ""
    over_six: bool = False
    """IPv4 routes may have next hops of IPv6 (RFC 8950)."""
    extended: bool = False
    """Extended communities are sent. EVPN needs them: route targets are extended communities (RFC 8365, section 5.1.2)."""
    bfd_lines: list[SelectedLine] = field(default_factory=list["SelectedLine"])
    maps: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Route maps of one address family, by the family and ``in`` or ``out``."""

    def over(self, group: Settings | None) -> Settings:
        """The same, with what the peer group says where nothing is said here."""
        if group is None:
            return self
        return Settings(
            self.group,
            self.remote_as if self.remote_as is not None else group.remote_as,
            self.local_as if self.local_as is not None else group.local_as,
            self.description or group.description,
            self.imports or group.imports,
            self.exports or group.exports,
            self.bfd if self.bfd is not None else group.bfd,
            self.timers or group.timers,
            self.one_hop or group.one_hop,
            self.key or group.key,
            self.source or group.source,
            self.unchanged or group.unchanged,
            self.shutdown or group.shutdown,
            group.active | self.active,
            self.evpn_out or group.evpn_out,
            self.over_six or group.over_six,
            self.extended or group.extended,
            [*group.bfd_lines, *self.bfd_lines],
            group.maps | self.maps,
        )

    def watched(self, usual: Bfd) -> Bfd | None:
        """BFD of the session; ``usual`` are the timers where none are said."""
        return (self.timers or usual) if self.bfd else None


def usual_bfd(taking: SectionReader) -> tuple[Bfd, Bfd]:
    """BFD where a neighbor on a link, and one over some hops, says nothing else."""
    return _usual(taking, _ONE_HOP), _usual(taking, _MULTIHOP)


def _usual(taking: SectionReader, forms: tuple[tuple[str, ...], ...]) -> Bfd:
    found = EOS_BFD
    for form in forms:
        for one in taking.each(*form):
            found = bfd_of(one) or found
            if bfd_of(one) is None:
                taking.leave(one)
    return found


def bfd_of(one: SelectedLine) -> Bfd | None:
    """BFD by the words ``interval``, ``receive`` and ``times``: one interval holds for both directions."""
    sent, times = number(one["interval"], 1, 100_000), number(one["times"], 1, 255)
    if sent is None or times is None or one["receive"] != one["interval"]:
        return None
    return Bfd(minimum_interval=sent, multiplier=times)


def forms(keys: dict[str, Authentication]) -> dict[str, Callable[[Settings, SelectedLine], bool]]:
    """What each form of line sets; it gives whether the words were understood."""
    return {
        "neighbor <name> peer group <value>": _group,
        "neighbor <name> peer-group <value>": _group,
        "neighbor <name> remote-as <value>": _remote_as,
        "neighbor <name> local-as <value> **": _local_as,
        "neighbor <name> description <value...>": _description,
        "neighbor <name> route-map <value> in": _imports,
        "neighbor <name> route-map <value> out": _exports,
        "neighbor <name> bfd": _bfd,
        "neighbor <name> bfd interval <interval> min-rx <receive> multiplier <times>": _timers,
        "neighbor <name> ttl maximum-hops <value>": _hops,
        "neighbor <name> password 0|7|8a <value>": _password,
        "neighbor <name> password <value>": _password,
        "neighbor <name> password shared-secret profile <profile> algorithm <word>": lambda own, one: _profile(
            own, one, keys
        ),
        "neighbor <name> update-source <value>": _source,
        "neighbor <name> next-hop-unchanged": _unchanged,
        "neighbor <name> send-community": _communities,
        "neighbor <name> send-community extended": _communities,
        "neighbor <name> send-community extended large": _communities,
        "neighbor <name> send-community standard extended": _communities,
        "neighbor <name> send-community standard extended large": _communities,
        "neighbor <name> shutdown": _shutdown,
        "neighbor <name> shutdown reason <value...>": _shutdown,
    }


def _group(own: Settings, one: SelectedLine) -> bool:
    own.group = one["value"]
    return True


def _remote_as(own: Settings, one: SelectedLine) -> bool:
    own.remote_as = as_number(one["value"])
    return own.remote_as is not None


def _local_as(own: Settings, one: SelectedLine) -> bool:
    own.local_as = as_number(one["value"])
    return own.local_as is not None


def _description(own: Settings, one: SelectedLine) -> bool:
    own.description = one["value"]
    return True


def _imports(own: Settings, one: SelectedLine) -> bool:
    own.imports = one["value"]
    return True


def _exports(own: Settings, one: SelectedLine) -> bool:
    own.exports = one["value"]
    return True


def _bfd(own: Settings, one: SelectedLine) -> bool:
    own.bfd = True
    own.bfd_lines.append(one)
    return True


def _timers(own: Settings, one: SelectedLine) -> bool:
    own.timers = bfd_of(one)
    own.bfd_lines.append(one)
    return own.timers is not None


def _hops(own: Settings, one: SelectedLine) -> bool:
    own.one_hop = one["value"] == "1"
    return own.one_hop


def _password(own: Settings, one: SelectedLine) -> bool:
    own.key = Authentication(secret(one["value"]))
    return True


def _profile(own: Settings, one: SelectedLine, keys: dict[str, Authentication]) -> bool:
    key = keys.get(one["profile"])
    words = {"aes-128-cmac-96": "ao-aes-128-cmac", "hmac-sha1-96": "ao-hmac-sha-1"}
    if key is None or one["word"] not in words:
        return False
    own.key = Authentication(
        key.key, "ao-aes-128-cmac" if one["word"] == "aes-128-cmac-96" else "ao-hmac-sha-1", key.key_id
    )
    return True


def _source(own: Settings, one: SelectedLine) -> bool:
    own.source = one["value"]
    return True


def _unchanged(own: Settings, one: SelectedLine) -> bool:
    del one
    own.unchanged = True
    return True


def _communities(own: Settings, one: SelectedLine) -> bool:
    del one
    own.extended = True
    return True


def _shutdown(own: Settings, one: SelectedLine) -> bool:
    del one
    own.shutdown = True
    return True


def key_profiles(taking: SectionReader) -> dict[str, Authentication]:
    """Profiles of shared secrets, by name: of several keys, the first."""
    found: dict[str, Authentication] = {}
    for security in taking.each("management security"):
        for header in taking.each("session shared-secret profile <name>", below=security):
            for one in taking.each("secret <number> 0|7|8a <secret> **", below=header):
                place = number(one["number"], 0, 255)
                if place is None or header["name"] in found:
                    taking.leave(one)
                else:
                    found[header["name"]] = Authentication(secret(one["secret"]), "ao-aes-128-cmac", place)
    return found
