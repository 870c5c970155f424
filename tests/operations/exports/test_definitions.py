"""Every object of every example against the published definition of its kind."""

from __future__ import annotations

import pytest

from railweave.errors import InputError
from railweave.operations.exports import kubernetes, kueue
from tests.conftest import EXAMPLES, example
from tests.operations.exports.crds import folder, strict, validators
from tests.operations.exports.read import objects

WITHOUT_GPUS = "frontend-mixed"
NAMES = sorted({path.stem for path in EXAMPLES.glob("*.yaml") if not path.stem.startswith("scale-")} - {WITHOUT_GPUS})
CORE = {("v1", "ConfigMap")}
"""Kinds of Kubernetes itself, which have no definition of this form. The trial ``kubernetes`` sends them to an API server."""


TARGETS = {"kueue": kueue.files, "kubernetes": kubernetes.files}


@pytest.mark.validator
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", TARGETS)
def test_every_object_keeps_to_its_definition(target: str, name: str) -> None:
    known = validators()
    missing: set[str] = set()
    for written in objects(TARGETS[target](example(name))):
        kind = (written["apiVersion"], written["kind"])
        if kind in known:
            problems = [f"{error.json_path}: {error.message}" for error in known[kind].iter_errors(written)]
            assert not problems, (kind, written["metadata"]["name"], problems)
        elif kind not in CORE:
            missing.add(kind[1])
    if missing:
        folders = "" if target == "kueue" else " CRD_CHECKOUTS=FOLDER"
        pytest.skip(f"no definitions of {', '.join(sorted(missing))} in {folder()}: make validators{folders}")


def test_a_network_without_gpus_is_refused() -> None:
    with pytest.raises(InputError, match="no server with a NIC that belongs to a GPU"):
        kueue.files(example(WITHOUT_GPUS))


def test_unknown_fields_and_wrong_types_are_refused() -> None:
    """The schemas that the test above uses are strict: an object with a misspelled field does not pass."""
    from jsonschema import Draft202012Validator

    schema = strict(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "count": {"x-kubernetes-int-or-string": True},
                        "note": {"type": "string", "nullable": True},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                }
            },
        }
    )
    check = Draft202012Validator(schema)
    assert check.is_valid({"spec": {"count": "50%", "note": None, "free": {"any": [1]}, "labels": {"a": "b"}}})
    assert not check.is_valid({"spec": {"cuont": 1}})
    assert not check.is_valid({"spec": {"count": 1.5}})
    assert not check.is_valid({"spec": {"labels": {"a": 1}}})
    assert not check.is_valid({"spec": {"note": 1}})
