"""Group quotas: what ``scontrol show assoc_mgr`` says of the GrpTRES of accounts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["Account", "read_accounts"]

_ROW: Final = re.compile(r"ClusterName=(?P<cluster>\S+) Account=(?P<account>\S+) UserName=(?P<user>\S*) ")
_LIMITS: Final = re.compile(r"\bGrpTRES=(?P<limits>\S*)")
_LIMIT: Final = re.compile(r"(?P<tres>[^,=]+)=(?P<limit>N|\d+)\(\d+\)")
_NAMES: Final = {"gres/gpu": "gpu", "cpu": "cpu", "mem": "mem"}


@dataclass(frozen=True, slots=True)
class Account:
    """One account with the limits on all its jobs together.

    Attributes
    ----------
    cluster, name
        Its cluster and its name.
    limits
        By resource: cards, cores, and mebibytes of memory; missing where there is none.
    """

    cluster: str
    name: str
    limits: Mapping[str, int]


def read_accounts(text: str) -> dict[str, Account]:
    """Read the output of ``scontrol -o show assoc_mgr flags=assoc``; limits of single users and partitions are not read."""
    accounts: dict[str, Account] = {}
    for line in text.splitlines():
        row, limits = _ROW.search(line), _LIMITS.search(line)
        if row is None or row["user"] or limits is None:
            continue
        stated = {_NAMES[each["tres"]]: int(each["limit"]) for each in _LIMIT.finditer(limits["limits"]) if each["tres"] in _NAMES and each["limit"] != "N"}
        accounts[row["account"]] = Account(row["cluster"], row["account"], stated)
    return accounts
