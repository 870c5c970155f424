"""Path colors: their names and numbers."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from railweave.model.intent.base import Model, WrongValueError


def _color_name(value: str) -> str:
    if re.fullmatch(COLOR_NAME, value) is None:
        raise WrongValueError(
            f"{value!r} is not a name of a color",
            "use letters, digits, dashes and underscores, at most 32, the first a letter",
        )
    return value


COLOR_NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"


class ColorName(Model):
    """A path color: its name, and its number in the color community ``color:0:N``."""

    name: Annotated[str, AfterValidator(_color_name), WithJsonSchema({"type": "string", "pattern": COLOR_NAME})] = (
        Field(description="used in community and group names")
    )
    number: int | None = Field(
        default=None, ge=1, le=4_294_967_295, description="N of color:0:N; empty: its place in the list"
    )
