"""Kubernetes objects as plain mappings, read without surprises: what is missing or of another kind is nothing."""

from collections.abc import Mapping
from typing import TypeAlias

__all__ = ["Manifest", "annotations_of", "found", "labels_of", "listed", "mapped", "name_of", "namespace_of", "number", "text"]

Manifest: TypeAlias = Mapping[str, object]
"""A JSON object."""


def found(manifest: object, *path: str | int) -> object:
    """Return what stands at a path; None where nothing does."""
    for step in path:
        if isinstance(manifest, Mapping) and isinstance(step, str):
            manifest = manifest.get(step)
        elif isinstance(manifest, list) and isinstance(step, int) and step < len(manifest):
            manifest = manifest[step]
        else:
            return None
    return manifest


def mapped(manifest: object, *path: str | int) -> Manifest:
    """Return the object at a path; an empty one where there is none."""
    value = found(manifest, *path)
    return value if isinstance(value, Mapping) else {}


def listed(manifest: object, *path: str | int) -> tuple[Manifest, ...]:
    """Return the objects of the list at a path."""
    value = found(manifest, *path)
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def text(manifest: object, *path: str | int) -> str:
    """Return the text at a path; empty where there is none."""
    value = found(manifest, *path)
    return value if isinstance(value, str) else ""


def number(manifest: object, *path: str | int, default: int) -> int:
    """Return the whole number at a path."""
    value = found(manifest, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def name_of(manifest: object) -> str:
    """Return its name."""
    return text(manifest, "metadata", "name")


def namespace_of(manifest: object) -> str:
    """Return its namespace; empty for what is in none."""
    return text(manifest, "metadata", "namespace")


def labels_of(manifest: object) -> Mapping[str, str]:
    """Return its labels."""
    return {key: value for key, value in mapped(manifest, "metadata", "labels").items() if isinstance(value, str)}


def annotations_of(manifest: object) -> Mapping[str, str]:
    """Return its annotations."""
    return {key: value for key, value in mapped(manifest, "metadata", "annotations").items() if isinstance(value, str)}
