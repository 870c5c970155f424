"""The interface of a NIC vendor's folder. Each folder defines one ``VENDOR``, whose code is imported when it is first used."""

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
"""The methods of ``Vendor`` that every vendor must provide, with their descriptions.

These methods have no defaults, because another vendor's values would be wrong without causing any error.
"""

ONLY_WITH_FIRMWARE = "nvm_script"
"""The name of the method that a vendor must define only if one of its NICs has ``firmware`` in the catalog."""


@dataclass(frozen=True, slots=True)
class NicTransport:
    """The congestion control of a vendor's NICs in the simulator, in addition to the settings that all NICs share.

    - ``dcqcn``: the name of the simulator's set of DCQCN parameters (``dcqcn`` of ``PacketEngine``).
    - ``note``: a sentence on the assumptions behind these parameters.
    - ``parameters``: further host parameters, by the simulator's names.
    """

    dcqcn: str | None
    note: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


class Vendor(Protocol):
    """A NIC vendor: its contributions to the files for servers, and the congestion control of its NICs. It makes no design decisions.

    Scripts call a vendor's functions by its lower-case name, written VENDOR below. The functions may call the shell functions in
    ``outputs/rendering/host/scripts``: ``nic_common.sh``, ``nic_qos.sh``, ``nic_nvm.sh``.
    """

    modules: ClassVar[tuple[str, ...]] = ()
    """The names of the modules in the vendor's folder that its methods import."""

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
        """A regular expression that matches the kernel's names of the vendor's RDMA devices."""
        ...

    def checklist(self) -> list[str]:
        """Return the vendor's items in ``bios.md``, for example that its drivers are loaded.

        The items are lines of Markdown with an empty line after each item.
        """
        ...

    def qos_script(self) -> str:
        """Return the functions `apply_VENDOR` and `show_VENDOR` of ``nic-qos.sh``.

        Both take an interface, an RDMA device and a port of that device. Shell variables hold the design of the NIC's fabric
        (PRIORITY, DESIGNED and others, which ``outputs.rendering.host.nic_qos`` writes).
        """
        ...

    def nvm_script(self) -> str:
        """Return the function VENDOR of ``nic-nvm.sh``.

        The function takes ``apply`` or ``show``, an interface, and the name of an array of settings. Each setting is a line
        with four fields: the name, the designed value (``-``: only shown), ``function`` or ``device``, and the reason.
        """
        ...

    def transport(self, model: str) -> NicTransport:
        """Return the simulator's congestion control for a NIC model."""
        ...

    @property
    def driver_file_paths(self) -> tuple[str, ...]:
        """Return the paths of all files that ``driver_files`` may return."""
        return ()

    def driver_files(self, config: HostConfig) -> dict[str, dict[str, str]]:
        """Return the settings that drivers read on a server (``KEY=VALUE``), by the path of their file on the server.

        Each file is delivered next to ``nic-qos.sh``, which installs it.
        """
        del config
        return {}

    def qos_variables(self, config: HostConfig, fabric: str) -> list[str]:
        """Return additional lines of ``nic-qos.sh`` for a fabric, with variables that this vendor's functions read."""
        del config, fabric
        return []


def missing_parts(name: str) -> list[str]:
    """Return the names in ``PARTS`` that a vendor's folder does not define. Raise ``KeyError`` if the vendor has no folder."""
    given = type(vendor(name))
    return [part for part in PARTS if getattr(given, part, None) in (None, getattr(Vendor, part))]
