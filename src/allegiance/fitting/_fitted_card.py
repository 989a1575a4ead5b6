"""A fitted object in a notebook."""

from __future__ import annotations

from allegiance.notebook import Card
from allegiance.results import count

from ._fitted import Fitted

#: Labels listed before the list is cut.
_MOST_LABELS = 12


def fitted_html(fitted: Fitted) -> str:
    """Return what was fitted, as a card for notebooks."""
    specification, classes = fitted.specification, fitted.classes
    labels = ", ".join(str(label) for label in classes[:_MOST_LABELS])
    more = f" and {classes.size - _MOST_LABELS} more" if classes.size > _MOST_LABELS else ""
    reduced = (
        f", reduced from {fitted.columns.n_features}" if fitted.tessellation.dim < fitted.columns.n_features else ""
    )
    rows = [
        ("clusters", f"{labels}{more}"),
        ("columns", f"{fitted.columns.n_features:,}"),
        ("closeness", specification.describe_influence()),
        ("domain", f"{specification.domain.describe()}, {count(fitted.tessellation.dim, 'dimension')}{reduced}"),
        ("engine", f"{specification.engine.describe()}, 95 % intervals within ±{specification.settings.eps:g}"),
        ("trust", _trust(fitted)),
    ]
    return Card(
        title=f"Fitted to {count(classes.size, 'cluster')}: affinity(X) scores points, known or new",
        lines=[] if fitted.trust_map is None else fitted.trust_map.remarks,
        headings=("", "fitted"),
        rows=rows,
        words=("", "fitted"),
    ).html()


def _trust(fitted: Fitted) -> str:
    calibration = fitted.specification.calibration
    if fitted.trust_map is None or calibration is None:
        return "not calibrated: pass calibration=20"
    return fitted.trust_map.note
