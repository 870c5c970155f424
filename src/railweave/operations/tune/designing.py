"""A fabric file with other values designed in memory: nothing is written, and the lock beside the file stays as it is."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from railweave.errors import DesignError, SpecError
from railweave.garbage import uncollected
from railweave.model.intent.fabric import FabricFile
from railweave.operations.tune.measuring import Refused
from railweave.operations.tune.patch import with_values
from railweave.outputs.folder.steps import design_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.reading.source import Source
    from railweave.model.intent.scenario import Setting
    from railweave.model.network.model import Network


def designed(
    source: Source, values: Mapping[tuple[str, ...], Setting], device: Sequence[str], hardware: Path | None
) -> Network | Refused:
    """The network of a fabric file with values at some paths, or why the design refuses them. ``device``, ``hardware``: see ``api.load``."""
    document = replace(source.document, value=with_values(source.document.value, values))
    try:
        spec = FabricFile.model_validate(document.value)
        with uncollected():
            changed = replace(source, spec=spec, document=document, lock=copy.deepcopy(source.lock))
            return design_source(changed, device=device, hardware=hardware)[0]
    except ValidationError as error:
        return Refused("; ".join(str(one.get("ctx", {}).get("error", one["msg"])) for one in error.errors()))
    except (DesignError, SpecError) as error:
        return Refused("; ".join(one.what for one in error.problems))
