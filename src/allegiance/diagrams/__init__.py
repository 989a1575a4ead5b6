"""Which functions: a clustering as affine functions f_i(y) = b_i - <a_i, y>, lower meaning closer."""

from ._affine import AffineFunctions, Diagram, Located
from ._embedding import Embedding, LinearEmbedding
from ._power import PowerDiagram
from ._recession import RecessionDiagram
from ._reduction import Reduction

__all__ = [
    "AffineFunctions",
    "Diagram",
    "Embedding",
    "LinearEmbedding",
    "Located",
    "PowerDiagram",
    "RecessionDiagram",
    "Reduction",
]
