"""Tables, streams, saved models and files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .files import TableError

if TYPE_CHECKING:
    from .batches import summarize_arrow
    from .model import Model
    from .plan import FeaturePlan, propose
    from .saved import load
    from .sinks import open_sink
    from .streams import StreamProgress, StreamSummary, fit_stream, score_stream
    from .tables import Table, open_table

#: Loaded on first use: they import pyarrow and scikit-learn.
_HOMES = {
    "batches": ["summarize_arrow"],
    "model": ["Model"],
    "plan": ["FeaturePlan", "propose"],
    "saved": ["load"],
    "sinks": ["open_sink"],
    "streams": ["StreamProgress", "StreamSummary", "fit_stream", "score_stream"],
    "tables": ["Table", "open_table"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "FeaturePlan",
    "Model",
    "StreamProgress",
    "StreamSummary",
    "Table",
    "TableError",
    "fit_stream",
    "load",
    "open_sink",
    "open_table",
    "propose",
    "score_stream",
    "summarize_arrow",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        try:
            return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        except ModuleNotFoundError as error:
            if error.name != "pyarrow":
                raise
            raise ImportError(f"{name} needs pyarrow: pip install 'allegiance[io]'.") from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
