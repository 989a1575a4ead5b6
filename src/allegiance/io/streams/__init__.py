"""Tables larger than memory: fitting in passes, scoring in batches with checkpoints."""

from allegiance._core import Progress as StreamProgress

from ._batches import BatchScorer
from ._fit import fit_stream
from ._period import profile_stream
from ._score import StreamSummary, score_stream

__all__ = ["BatchScorer", "StreamProgress", "StreamSummary", "fit_stream", "profile_stream", "score_stream"]
