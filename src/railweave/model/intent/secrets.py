"""References to secrets: a fabric file names them, and ``build --secrets`` has their values."""

from __future__ import annotations

import re

from railweave.model.intent.base import WrongValueError

_SECRET_NAME = re.compile(r"secret:[A-Za-z0-9_./:@-]{1,128}")
SECRET = "secret:"  # noqa: S105 - the marker of a reference, not a secret


def secret_reference(value: str | None) -> str | None:
    """A reference to a secret, ``secret:NAME``; raises ``ValueError`` for anything else."""
    if value is not None and not value.startswith(SECRET):
        raise WrongValueError(
            "secrets are not written here", "refer to one as secret:NAME and pass --secrets FILE to build"
        )
    if value == SECRET:
        raise WrongValueError("the secret has no name", "write it as secret:NAME")
    if value is not None and _SECRET_NAME.fullmatch(value) is None:
        raise WrongValueError(
            f"{value!r:.60} names no secret", "use letters, digits, dots, dashes, slashes, underscores"
        )
    return value
