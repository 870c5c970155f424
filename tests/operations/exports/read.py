"""Readers of the files that the targets write."""

from __future__ import annotations

import shlex
from typing import Any

import yaml

Document = dict[str, Any]


def documents(text: str) -> list[Document]:
    """The documents of a YAML file."""
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def objects(files: dict[str, str]) -> list[Document]:
    """The Kubernetes objects of all YAML files of a target."""
    return [document for name, text in files.items() if name.endswith(".yaml") for document in documents(text)]


def labelled(script: str) -> dict[str, dict[str, str]]:
    """The labels that a script gives to nodes by ``kubectl label``, by node."""
    result: dict[str, dict[str, str]] = {}
    for line in script.splitlines():
        words = shlex.split(line, comments=True)
        if words[1:3] == ["label", "node"]:
            assert words[0] == "$kubectl"
            assert words[-1] == "--overwrite"
            result[words[3]] = dict(word.split("=", 1) for word in words[4:-1] if not word.endswith("-"))
    return result
