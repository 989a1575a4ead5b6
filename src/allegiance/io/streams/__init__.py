"""Tables larger than memory: fitting in passes, scoring in batches with checkpoints."""

from ._fit import fit_stream
from ._progress import StreamProgress
from ._score import StreamSummary, score_stream

__all__ = ["StreamProgress", "StreamSummary", "fit_stream", "score_stream"]
