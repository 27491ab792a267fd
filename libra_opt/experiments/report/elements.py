"""What every page is made of: escaped text, tables, places for plots, and the one file that holds them with all that they need.

Names come out of files, and files from anywhere: whatever is not ours is escaped, scripts get their values as JSON in which no tag can end, and a
content policy forbids the page every connection.
"""

import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final

from libra_opt.errors import MissingExtraError
from libra_opt.experiments.report.labels import plain_text
from libra_opt.experiments.tables import TextTable

__all__ = ["as_text", "document", "place", "require_plotly", "table"]

_POLICY: Final = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"


def require_plotly() -> None:
    """Raise `MissingExtraError` where plotly is not installed."""
    if find_spec("plotly") is None:
        raise MissingExtraError("the report needs plotly; install it with: pip install 'libra-opt[report]'")


def place(key: str, says: str) -> str:
    """Return the place of a plot, with what it shows for those who do not see it."""
    return f'<div class="plot" id="{key}" role="img" aria-label="{as_text(says)}"></div>'


def table(shown: TextTable, key: str = "") -> str:
    """Return a table; `key` is its id in the page."""
    name = f' id="{as_text(key)}"' if key else ""
    head = "".join(f'<th scope="col">{as_text(name)}</th>' for name in shown.headings)
    rows = "".join(f'<tr><th scope="row">{as_text(row[0])}</th>{"".join(f"<td>{as_text(cell)}</td>" for cell in row[1:])}</tr>' for row in shown.rows)
    return f'<div class="wide"><table{name}><caption>{as_text(shown.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def document(title: str, body: str, plots: dict[str, Any], runs: Iterable[dict[str, Any]] = ()) -> str:
    """Return the page: its body, the plots by the key of their place, and the runs that its tables are filled from."""
    here = files(__package__)
    scripts = ""
    if plots:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - heavy, and an extra

        script = (here / "page.js").read_text(encoding="utf-8")
        scripts = (
            f'<script type="application/json" id="plots">{_json(plots)}</script>\n<script type="application/json" id="runs">{_json(list(runs))}</script>\n'
            f"<script>{get_plotlyjs()}</script>\n<script>{script}</script>\n"
        )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{as_text(title)}</title>\n'
        f"<style>{(here / 'page.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n{scripts}</body>\n</html>\n"
    )


def _json(value: object) -> str:
    """Return JSON that no browser takes for the end of a script, nor for a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def as_text(text: str) -> str:
    """Return text as a page shows it, whatever is in it."""
    return escape(plain_text(text))
