"""The first boot of new switches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.sources import load, path_of
from railweave.model.catalog import in_force

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.deploy.ztp.making import Made


def deploy_ztp(
    fabric: Path | str,
    out: Path | str,
    url: str,
    *,
    whole: bool = False,
    image: Sequence[str] = (),
    only: Sequence[str] = (),
    interface: str = "*",
    secrets: Path | str | None = None,
    hardware: Path | str | None = None,
) -> Made:
    """Write what new switches get at their first boot, by serial number: files, and text of two DHCP servers (ISC Kea, dnsmasq).

    - ``out``: the folder to write, for its owner alone. ``url``: where switches will find it, ``http://ADDRESS:PORT``.
    - ``whole``: the full configuration, not only what ``deploy_apply`` needs to reach them.
    - ``image``: images to run, as ``SYSTEM=FILE``. ``only``: these switches alone. ``interface``: where the DHCP server listens.
    - ``secrets``: values of the secrets that files refer to. ``hardware``: see ``load``.

    Serial numbers are those of the inventory. Raises ``InputError`` where no switch has one, or a secret has no value.
    """
    from railweave.operations.deploy.ztp.making import make, write
    from railweave.outputs.folder.secrets_file import read_secrets

    network = load(Path(fabric), hardware=hardware)
    with in_force(network.catalog):
        made = make(network, url, secrets=read_secrets(path_of(secrets)), given=image, whole=whole, only=only)
    write(made, Path(out), interface)
    return made
