"""Ray's control store, where groups are kept: it lives as long as the cluster, whoever wrote to it.

Every function needs a connection (``ray.init``).
"""

import json
from typing import Any, Final

from pydantic import ValidationError

from libra_opt.adapters.ray.records import Group, Report, Reports

__all__ = ["NAMESPACE", "forget", "group_named", "groups", "keep_group", "keep_reports", "keep_value", "kept_class", "reports_of", "value_named"]

NAMESPACE: Final = "libra_opt"
"""Of the control store and of the actors."""


def keep_group(group: Group, pickled: bytes, *, replace: bool) -> bool:
    """Keep a group and its pickled class; False where another has its name and is not to be replaced."""
    had = _kv()._internal_kv_put(_key("group", group.name), group.model_dump_json().encode(), replace, namespace=NAMESPACE.encode())  # noqa: SLF001 - Ray's only door to it
    if had and not replace:
        return False
    _put("class", group.name, pickled)
    return True


def kept_class(name: str) -> bytes:
    """Return the pickled class of a group, with its arguments."""
    return _get("class", name) or b""


def group_named(name: str) -> Group | None:
    """Return a group; None where there is none.

    Raises
    ------
    pydantic.ValidationError
        Something else lies in its place.
    """
    kept = _get("group", name)
    return None if kept is None else Group.model_validate_json(kept)


def groups() -> tuple[dict[str, Group], list[str]]:
    """Return all groups, and a sentence for each that cannot be read."""
    found: dict[str, Group] = {}
    faults: list[str] = []
    for key in sorted(_kv()._internal_kv_list(b"group/", namespace=NAMESPACE.encode())):  # noqa: SLF001 - as above
        name = key.decode().removeprefix("group/")
        try:
            group = group_named(name)
        except ValidationError:
            faults.append(f"what is kept of group {name!r} cannot be read; it was registered by another version")
            continue
        if group is not None:
            found[name] = group
    return found, faults


def forget(name: str) -> None:
    """Forget all about a group; the group itself first, so that nothing is started any more."""
    for kind in ("group", "class", "report", "target"):
        _kv()._internal_kv_del(_key(kind, name), namespace=NAMESPACE.encode())  # noqa: SLF001 - as above


def reports_of(name: str) -> tuple[Report, ...]:
    """Return the latest reports of a group; none where they cannot be read."""
    try:
        return Reports.model_validate_json(_get("report", name) or b"{}").reports
    except ValidationError:
        return ()


def keep_reports(name: str, reports: tuple[Report, ...]) -> None:
    """Keep the latest reports of a group."""
    _put("report", name, Reports(reports=reports).model_dump_json(exclude_none=True).encode())


def keep_value(kind: str, name: str, value: object) -> None:
    """Keep a small value."""
    _put(kind, name, json.dumps(value).encode())


def value_named(kind: str, name: str) -> Any:
    """Return a small value; None where there is none."""
    return json.loads(_get(kind, name) or b"null")


def _put(kind: str, name: str, value: bytes) -> None:
    _kv()._internal_kv_put(_key(kind, name), value, True, namespace=NAMESPACE.encode())  # noqa: FBT003, SLF001 - as above


def _get(kind: str, name: str) -> bytes | None:
    found: bytes | None = _kv()._internal_kv_get(_key(kind, name), namespace=NAMESPACE.encode())  # noqa: SLF001 - as above
    return found


def _key(kind: str, name: str) -> bytes:
    return f"{kind}/{name}".encode()


def _kv() -> Any:
    from ray.experimental import internal_kv  # noqa: PLC0415 - a second, and an extra

    return internal_kv
