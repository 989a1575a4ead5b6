"""The finished comparison as Markdown and as one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from allegiance import __version__
from reproduction.files import write_whole

if TYPE_CHECKING:
    from ._run import Outcome

#: Where pictures lie, seen from the page: the same in the project's own documentation.
PICTURES = Path("images") / "paper"


def write_pages(folder: Path, outcomes: Sequence[Outcome], n_seeds: int) -> None:
    """Write ``paper.md``, and ``paper.html`` with its pictures inside, each only once it is complete."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reproduction.framework"),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = lambda text: text.replace("|", "\\|")
    environment.filters["inlined"] = lambda file: _inlined(folder / PICTURES / file)
    content: dict[str, Any] = {
        "outcomes": outcomes,
        "n_seeds": n_seeds,
        "version": __version__,
        "pictures": PICTURES.as_posix(),
    }
    for template in ("paper.md.j2", "paper.html.j2"):
        path = folder / template.removesuffix(".j2")
        write_whole(path, environment.get_template(template).render(content).encode())


def _inlined(path: Path) -> str:
    """Return a picture as an address that contains it."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
