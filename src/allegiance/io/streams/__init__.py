"""Tables larger than memory: fitting in passes, scoring in batches with checkpoints."""

from allegiance._core import Progress as StreamProgress

from ._fit import fit_stream
from ._score import StreamSummary, score_stream

__all__ = ["StreamProgress", "StreamSummary", "fit_stream", "score_stream"]
