"""First steps: hardware models, the schema of the fabric file, and a first fabric file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.options import verb
from railweave.api.start_verbs import HardwareList, HardwareShow, Init
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import packaged
from railweave.model.catalog.hardware_files import OwnHardware, own_hardware
from railweave.model.intent.reading.document import read_document
from railweave.outputs.folder.sources import path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.catalog.models import Catalog
    from railweave.model.catalog.words import Row, ShownModel
    from railweave.outputs.folder.starting import StartedFabric


@verb(HardwareList)
def hardware_list(options: HardwareList) -> list[Row]:
    """Return the hardware models that designs can use, with name, description and origin. Raises ``InputError`` for an unknown kind."""
    from railweave.model.catalog.words import SECTIONS, rows

    if options.section is not None and options.section not in SECTIONS:
        fix = f"sections are {', '.join(SECTIONS)}"
        raise InputError([Problem(Argument("hardware list"), f"there is no section {options.section!r}", fix)])
    known, local = _known(options)
    return [row for row in rows(known, local.places) if options.section in {None, row.section}]


@verb(HardwareShow)
def hardware_show(options: HardwareShow) -> list[ShownModel]:
    """Return the hardware models with this name, each formatted as a hardware file (docs/hardware.md).

    Raises ``InputError`` if there is none.
    """
    from railweave.model.catalog.words import shown

    known, local = _known(options)
    models = shown(known, options.model, local.places)
    if not models:
        fix = "`railweave hardware list` names them; docs/hardware.md says how to add one"
        raise InputError([Problem(Argument("hardware show"), f"there is no model {options.model!r}", fix)])
    return models


def _known(options: HardwareList | HardwareShow) -> tuple[Catalog, OwnHardware]:
    fabric = path_of(options.fabric)
    local = own_hardware(path_of(options.hardware), None if fabric is None else read_document(fabric))
    return packaged().with_hardware(local.hardware), local


def fabric_schema() -> dict[str, Any]:
    """Return the JSON Schema of the fabric file."""
    from railweave.model.intent import reference

    return reference.fabric_schema()


def fabric_reference() -> str:
    """Return the reference of all fields of the fabric file as Markdown."""
    from railweave.model.intent import reference

    return reference.fabric_reference()


def init_example(name: str, folder: Path | str) -> list[Path]:
    """Write an example into a new or empty folder, and return its files, the fabric file first.

    Raises ``InputError`` for an unknown name, and ``OutputError`` if the folder cannot be written.
    """
    from railweave.outputs.folder.starting import start_from_example

    return start_from_example(name, Path(folder))


def confirmed_by(options: Init, confirm: Callable[[tuple[str, ...]], None] | None) -> StartedFabric:
    """Write a sized fabric, as ``init_sized`` does.

    First, ``confirm`` is called with a preview of the fabric's addresses. If it raises an error, nothing is written.
    """
    from railweave.design.sizing.request import request_of
    from railweave.outputs.folder.starting import start_for_gpus

    if options.folder is None or options.gpus is None:
        missing = "folder" if options.folder is None else "gpus"
        raise InputError(
            [Problem(Argument(missing), "is missing", "give a new or empty folder, and the number of GPUs")]
        )
    return start_for_gpus(
        request_of(vars(options)),
        Path(options.folder),
        predict_qps=options.qps == PREDICT,
        hardware=path_of(options.hardware),
        prices=path_of(options.prices),
        html=path_of(options.html),
        confirm=confirm,
    )


@verb(Init)
def init_sized(options: Init) -> StartedFabric:
    """Size a fabric file for a number of GPUs, and write it into a new or empty folder, with an inventory to fill in.

    Raises ``InputError`` for wrong input or if no topology fits, and ``OutputError`` if the folder cannot be written.
    """
    return confirmed_by(options, None)


PREDICT = "predict"
"""The value of ``qps`` that requests the predicted number of queue pairs."""
