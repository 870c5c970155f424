"""Opening of connections that query devices. The module of a protocol is imported when the protocol is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from railweave.live.reach.target import Target, Transport
    from railweave.model.state.question import Protocol


async def opened(target: Target, protocol: Protocol) -> Transport:
    """Return a connection for queries to a device.

    Raises ``ReachError`` if the device cannot be reached or refuses the login, and ``RailweaveError`` if the Python library
    for the protocol is missing.
    """
    try:
        if protocol == "ssh":
            from railweave.live.reach.ssh import Ssh

            return await Ssh.opened(target)
        if protocol == "netconf":
            from railweave.live.reach.netconf import Netconf

            return await Netconf.opened(target)
        from railweave.live.reach.web import Eapi, Restconf

        return await (Eapi if protocol == "eapi" else Restconf).opened(target)
    except ModuleNotFoundError as error:
        if error.name not in {"asyncssh", "httpx"}:
            raise
        raise RailweaveError(
            f"asking devices needs {error.name}, which is not installed: pip install 'railweave[live]'"
        ) from None
