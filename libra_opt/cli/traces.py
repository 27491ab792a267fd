"""Documents of recorded traces, found in a directory by the patterns of whoever converts them."""

from collections.abc import Collection, Mapping
from pathlib import Path

from libra_opt.adapters.files import read_bytes
from libra_opt.cli.documents import title
from libra_opt.errors import Fault, InputError
from libra_opt.recordings import Document

__all__ = ["read_document", "read_parts"]


def read_parts(
    place: Path, patterns: Mapping[str, str], *, many: Collection[str] = (), optional: Collection[str] = (), remedy: str
) -> dict[str, list[Document]]:
    """Return the documents of every part.

    Parameters
    ----------
    place
        Directory that holds a directory per source.
    patterns
        Per part, where its documents lie in it.
    many, optional
        Parts of which there may be several documents, and parts that may be missing.
    remedy
        What to do about a part that is missing, for the message.

    Raises
    ------
    InputError
        Parts are missing, or several files answer a pattern that means one; all such are named.
    """
    documents: dict[str, list[Document]] = {}
    faults: list[Fault] = []
    for part, pattern in patterns.items():
        found = sorted(place.glob(pattern))
        if not found and part in optional:
            continue
        if not found:
            faults.append(Fault("", f"no file {place / pattern}, {remedy}"))
        elif len(found) > 1 and part not in many:
            faults.append(Fault("", f"{' and '.join(path.name for path in found)} both are {place / pattern}; keep one of them there"))
        else:
            documents[part] = [read_document(str(path)) for path in found]
    if faults:
        raise InputError(str(place), tuple(faults))
    return documents


def read_document(name: str) -> Document:
    """Return the text of one file; raises `InputError` where it is none."""
    content = read_bytes(name)
    try:
        return Document(title(name), content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(title(name), (Fault("", f"is not UTF-8 text ({error.reason} at byte {error.start}); convert it first"),)) from error
