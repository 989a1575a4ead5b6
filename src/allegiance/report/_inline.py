"""A whole page inside a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allegiance.io import check_writable, write_whole
from allegiance.notebook import element, markup


class InlinePage:
    """A page that a notebook shows in a frame of its own, so that neither's styles and scripts touch the other.

    Parameters
    ----------
    html
        The text of the page, complete in itself; or None, if it is served.
    url
        Where a served page is; None for ``html``.
    height
        Height of the frame in pixels.
    title
        What the page is, for readers who do not see it.
    """

    def __init__(
        self, html: str | None = None, *, url: str | None = None, height: int = 760, title: str = "allegiance"
    ) -> None:
        if (html is None) == (url is None):
            raise ValueError("InlinePage needs html or url, one of the two.")
        self.html = html
        self.url = url
        self.height = height
        self.title = title

    def save(self, path: Any) -> Path:
        """Write the page to a file and return its path.

        Parameters
        ----------
        path
            The file; an existing one is replaced once the new one is complete.
        """
        if self.html is None:
            raise ValueError(f"this page is served at {self.url}: there is nothing to save.")
        given = Path(path)
        check_writable(given, force=True)
        write_whole(given, self.html.encode("utf-8", "replace"))
        return given

    def __repr__(self) -> str:
        if self.html is None:
            return f"{self.title}: open {self.url} in a browser"
        return f"{self.title}: a page of {len(self.html) / 1e6:.1f} MB that notebooks show; save('page.html') writes it"

    def _repr_html_(self) -> str:
        style = {"width": "100%", "height": self.height, "style": "border: 0; background: white"}
        if self.html is None:
            return markup(element("iframe", src=self.url, title=self.title, **style))
        # Scripts of the page run, and may offer files to save; they have no access to the notebook.
        allowed = "allow-scripts allow-downloads allow-popups"
        return markup(element("iframe", srcdoc=self.html, title=self.title, sandbox=allowed, **style))
