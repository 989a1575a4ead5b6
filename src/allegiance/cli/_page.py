"""The report on the command line: what it shows of each row, checked before the work, and the page itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._options import ImageShape, RunOptions, bundled
from ._outputs import say_written
from ._param_type import ParamType

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance.report import Images
    from allegiance.results import AffinityResult

    from ._points import Opened, Points


@dataclass(frozen=True)
class PageOptions:
    """What a page shows of the rows, and its heading."""

    title: str | None
    text: str | None
    image_shape: tuple[int, ...] | None
    image_column: str | None
    coordinates: tuple[str, str] | None

    @property
    def written(self) -> list[str]:
        """Columns to read as they are written; they are not features."""
        return [name for name in (self.text, self.image_column) if name is not None]

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers that are not features."""
        return list(self.coordinates or ())


class TwoColumns(ParamType[tuple[str, str]]):
    """The names of two columns, with a comma between them."""

    name = "X,Y"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the names.

        Parameters
        ----------
        value, param, ctx
            From click.
        """
        names = [part.strip() for part in value.split(",")]
        if len(names) != 2 or not all(names):
            self.fail(f"{value!r} is not the names of two columns, such as umap_1,umap_2.", param, ctx)
        return names[0], names[1]


page_options = bundled(
    "page",
    PageOptions,
    [
        click.option("--title", metavar="TEXT", help="Heading of the page."),
        click.option(
            "--text",
            metavar="COLUMN",
            help="Column with the text that a row stands for: the page and --review show it. It is not a feature.",
        ),
        click.option(
            "--image-shape",
            type=ImageShape(),
            metavar="HxW",
            help="Shape of the images that the rows of DATA are, such as 28x28: the page shows them.",
        ),
        click.option(
            "--image-column",
            metavar="COLUMN",
            help="Column with paths of image files, seen from the folder of DATA: the page shows them.",
        ),
        click.option(
            "--coordinates",
            type=TwoColumns(),
            metavar="X,Y",
            help="Two columns that place the rows on the map, such as those of UMAP; not features.",
        ),
    ],
)


def check_report(report: str | None, run: RunOptions) -> None:
    """Raise if a report could not be written once the work is done."""
    from allegiance.io import check_writable

    if report is None:
        return
    check_writable(report, force=run.force)
    for library in ("bokeh", "jinja2", "PIL"):
        if find_spec(library) is None:
            raise click.ClickException(f"a report needs {library}: pip install 'allegiance[report]'.")


def check_page(page: PageOptions, opened: Opened) -> None:
    """Raise if the page could not show what was asked for."""
    from allegiance.io._old_tables import TableError

    shape, features = page.image_shape, opened.features
    if shape is not None and page.image_column is not None:
        raise click.UsageError("--image-shape and --image-column both say what the images are: leave one of them out.")
    if shape is not None and math.prod(shape) != len(features.names):
        listed = "x".join(map(str, shape))
        raise click.BadParameter(
            f"{listed} is {math.prod(shape)} numbers, but rows have {len(features.names)}.", param_hint="--image-shape"
        )
    if page.image_column is None:
        return
    folder = _folder(opened)
    for row, path in enumerate(opened.source.read([page.image_column]).column(0).to_pylist()):
        if path and not (folder / path).is_file():
            raise TableError(
                f"{page.image_column} (--image-column) names {path!r} in row {row}, which is not a file in {folder}: "
                "paths are seen from the folder of the data; leave the cell empty if the row has no image."
            )


def _folder(opened: Opened) -> Path:
    """Return the folder that the paths of images start from: that of the table."""
    files = opened.source.files
    return Path(files[0]).parent if files else Path()


def images_of(page: PageOptions, points: Points, opened: Opened) -> Images | None:
    """Return the images of the rows, if there are any."""
    from allegiance.report import check_images

    if page.image_column is not None:
        paths = points.others.column(page.image_column)
        return check_images(paths, paths.length(), folder=_folder(opened))
    return check_images(None if page.image_shape is None else points.X.reshape(-1, *page.image_shape), len(points.X))


def coordinates_of(page: PageOptions, points: Points) -> pa.Table | None:
    """Return the two columns that place the rows on the map, if they were named."""
    import numpy as np

    from allegiance.io._old_tables import TableError

    if page.coordinates is None:
        return None
    for name in page.coordinates:
        try:
            column = np.asarray(points.others.column(name), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TableError(f"{name} (--coordinates) has values that are not numbers: {error}.") from error
        if not np.isfinite(column).all():
            raise TableError(f"{name} (--coordinates) has missing or infinite values: every row needs a place.")
    return points.others.select(list(page.coordinates))


def write_report(
    result: AffinityResult, points: Points, opened: Opened, path: str, page: PageOptions, run: RunOptions
) -> None:
    """Write the HTML report, in which points go by their identifiers."""
    result.report(
        path,
        points.X,
        ids=points.ids if points.has_ids else None,
        texts=None if page.text is None else points.others.column(page.text),
        images=images_of(page, points, opened),
        coordinates=coordinates_of(page, points),
        feature_names=list(points.names),
        row_numbers=points.rows,
        title=page.title,
    )
    say_written(path, run)
