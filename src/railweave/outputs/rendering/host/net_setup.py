"""``net-setup.sh``: links, addresses, routes and rules by iproute2, without netplan."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Addressed
from railweave.outputs.rendering.host.comments import head

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.host_model import HostConfig, HostRoute, HostRule


def net_setup_sh(config: HostConfig) -> str:
    """The file's text."""
    slaac = {nic.netdev for nic in config.nics if nic.slaac}
    values = {
        "head": "\n".join(
            head(
                config,
                "/usr/local/sbin/railweave-net-setup",
                "",
                "Links, addresses, source routes and rules of the fabric NICs, the same as in netplan.yaml, by iproute2. For servers",
                "where the kernel handles router advertisements (railweave-net.service runs it at boot), and for trying things out.",
                "Makes only what is missing, so it can run again. --undo takes back what it made, --dry-run shows what it would do.",
            )
        ),
        "links": _words(f"{nic.netdev} {nic.mtu} {'slaac' if nic.slaac else 'static'}" for nic in config.nics),
        "addresses": _words(
            f"{_version(one.address)}|{one.address}/{one.prefix_length}|{nic.netdev}"
            for nic in config.nics
            for one in nic.addresses
            if one.origin == "static"
        ),
        "routes": _words(_route(route, slaac) for route in config.routes),
        "rules": _words(_rule(rule) for rule in config.rules),
    }
    text = _template()
    for name, value in values.items():
        text = text.replace(f"@{name}@\n", value + "\n" if value else "", 1)
    return text


def _route(route: HostRoute, slaac: set[str]) -> str:
    to = f"{route.to} dev {route.dev}" if route.via is None else f"{route.to} via {route.via} dev {route.dev}"
    more = [f"scope {route.scope}"] if route.scope else []
    # The gateway is on the link, also before the address is there that would say so.
    more += ["onlink"] if route.via is not None and route.via.family == "ipv6" and route.dev in slaac else []
    return f"{_version(route.via or route.to)}|{to} table {route.table}|{' '.join(more)}"


def _rule(rule: HostRule) -> str:
    selector = f"from {rule.from_ or 'all'}" + (f" to {rule.to}" if rule.to else "")
    priority = "" if rule.priority is None else str(rule.priority)
    return f"{_version(rule.from_ or rule.to)}|{selector} lookup {rule.table}|{priority}"


def _version(way: Addressed | Literal["default"] | None) -> int:
    return 6 if isinstance(way, Addressed) and way.family == "ipv6" else 4


def _words(lines: Iterable[str]) -> str:
    """A word of the shell on each line; all of them hold a blank or ``|``, so that each needs quotes."""
    text = "\n".join(lines).replace("'", "'\"'\"'").replace("\n", "'\n  '")
    return f"  '{text}'" if text else ""


@cache
def _template() -> str:
    return (files("railweave.outputs.rendering.host") / "net_setup.sh").read_text(encoding="utf-8")
