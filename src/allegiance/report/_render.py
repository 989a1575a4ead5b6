"""Fill the template: data goes through JSON in which no character means anything to HTML."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from allegiance._core import require

from ._figures import Figures

_FOLDER = Path(__file__).parent
#: The page's scripts, in the order in which they run.
_SCRIPTS = (
    "elements.js",
    "points.js",
    "state.js",
    "tally.js",
    "theme.js",
    "density.js",
    "figures.js",
    "csv.js",
    "decisions.js",
    "cards.js",
    "table.js",
    "start.js",
)


def render(figures: Figures, page_data: dict[str, Any], **words: Any) -> str:
    """Return the page.

    Parameters
    ----------
    figures
        The figures.
    page_data
        What the scripts of the page need; it becomes JSON.
    **words
        What the template needs.
    """
    jinja2 = require("jinja2", "report", "report()")
    to_html_safe_json = require("jinja2.utils", "report", "report()").htmlsafe_json_dumps
    bokeh_json = require("bokeh.core.json_encoder", "report", "report()").serialize_json
    resources = require("bokeh.resources", "report", "report()").Resources(
        mode="inline", components=["bokeh"], log_level="error"
    )
    embedded = {
        "figures": to_html_safe_json(
            {
                "documents": {"report": figures.document.to_json(deferred=False)},
                "items": [{"docid": "report", "roots": figures.elements, "root_ids": list(figures.elements)}],
            },
            dumps=bokeh_json,
        ),
        "page": to_html_safe_json(page_data),
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Only scripts with this word run: names from the data cannot know it. It also tells pages apart.
    nonce = hashlib.sha256("".join(embedded.values()).encode()).hexdigest()[:32]
    page: str = environment.get_template("report.html.j2").render(
        embedded=embedded, nonce=nonce, static=_static, bokeh_scripts=resources.js_raw, scripts=_SCRIPTS, **words
    )
    return page


def _static(name: str) -> str:
    return (_FOLDER / "static" / name).read_text(encoding="utf-8")
