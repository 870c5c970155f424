"""The interface of a NIC vendor's folder. Each folder gives one ``VENDOR``, whose parts are imported where they are used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from railweave.model.catalog.definitions import VENDOR_FILES, vendor_files
from railweave.nics import vendor
from railweave.plugged import check_known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.host_model import HostConfig

PARTS = {
    "rdma_devices": "how the kernel names its RDMA devices",
    "checklist": "its items of bios.md",
    "qos_script": "its functions of nic-qos.sh",
    "nvm_script": "its function of nic-nvm.sh",
    "transport": "how its NICs send in the simulator",
}
"""The methods that every vendor must provide, of ``Vendor``, with their descriptions.

Methods have no defaults: the values of a different vendor would be wrong, and no one would notice.
"""

ONLY_WITH_FIRMWARE = "nvm_script"
"""The part that only NICs with ``firmware`` in the catalog need."""


@dataclass(frozen=True, slots=True)
class NicTransport:
    """The transport of a vendor's NICs in the simulator, besides what all NICs share.

    ``dcqcn`` is the engine's set of DCQCN parameters (``dcqcn`` of ``PacketEngine``). ``note`` states the assumptions about that set.
    ``parameters`` are more of the engine's parameters of hosts, by the engine's names.
    """

    dcqcn: str | None
    note: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


class Vendor(Protocol):
    """A NIC vendor: its part of what servers are given, and how its NICs send. Nothing is decided.

    Scripts call a vendor's functions by its name in lower case, VENDOR below. What they may call themselves is in
    ``outputs/rendering/host/scripts``: ``nic_common.sh``, ``nic_qos.sh``, ``nic_nvm.sh``.
    """

    modules: ClassVar[tuple[str, ...]] = ()
    """Modules of its folder, which its methods import."""

    def __init_subclass__(cls, **rest: Any) -> None:  # noqa: ANN401 - whatever classes above take
        super().__init_subclass__(**rest)
        definition = vendor_files().get(cls.__module__.rpartition(".")[2])
        if definition is not None:
            check_known(
                definition.parent,
                {*VENDOR_FILES, *cls.modules},
                f"if it is a module, name it in {cls.__name__}.modules",
            )

    @property
    def rdma_devices(self) -> str:
        """A regular expression that names match which the kernel gives its RDMA devices."""
        ...

    def checklist(self) -> list[str]:
        """Its items of ``bios.md``, such as that its drivers are loaded: lines of Markdown, an empty one after each item."""
        ...

    def qos_script(self) -> str:
        """Return the functions `apply_VENDOR` and `show_VENDOR` of ``nic-qos.sh``.

        Both take interface, RDMA device and the device's port. Variables hold the design of the NIC's fabric (PRIORITY,
        DESIGNED and others, which ``outputs.rendering.host.nic_qos`` writes).
        """
        ...

    def nvm_script(self) -> str:
        """The function VENDOR of ``nic-nvm.sh``: takes ``apply`` or ``show``, an interface, and the name of an array of settings.

        A setting is a line: name, wanted value (``-``: only shown), ``function`` or ``device``, why.
        """
        ...

    def transport(self, model: str) -> NicTransport:
        """Return the transport of a NIC model."""
        ...

    @property
    def driver_file_paths(self) -> tuple[str, ...]:
        """The paths of all files that ``driver_files`` may give."""
        return ()

    def driver_files(self, config: HostConfig) -> dict[str, dict[str, str]]:
        """The settings that drivers read on a server (``KEY=VALUE``), by the path of their file there.

        Each file lies beside ``nic-qos.sh``, which puts it in its place.
        """
        del config
        return {}

    def qos_variables(self, config: HostConfig, fabric: str) -> list[str]:
        """More lines for the design of a fabric in ``nic-qos.sh``, which this vendor's functions read."""
        del config, fabric
        return []


def missing_parts(name: str) -> list[str]:
    """Those of ``PARTS`` that a vendor does not give. Raises ``KeyError`` where there is no folder of it."""
    given = type(vendor(name))
    return [part for part in PARTS if getattr(given, part, None) in (None, getattr(Vendor, part))]
