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
    # Only scripts with this word run: names from the data cannot know it. It also tells pages apart.
    nonce = hashlib.sha256("".join(embedded.values()).encode()).hexdigest()[:32]
    return fill(
        "report.html.j2", embedded=embedded, nonce=nonce, bokeh_scripts=resources.js_raw, scripts=_SCRIPTS, **words
    )


def fill(template: str, **words: Any) -> str:
    """Return a page from a template, in which all that is not marked as safe is escaped.

    Parameters
    ----------
    template
        The name of its file.
    **words
        What it needs, besides ``static(name)``, which returns the text of a file of styles or scripts.
    """
    jinja2 = require("jinja2", "report", "a report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page: str = environment.get_template(template).render(static=_static, **words)
    return page


def _static(name: str) -> str:
    return (_FOLDER / "static" / name).read_text(encoding="utf-8")
