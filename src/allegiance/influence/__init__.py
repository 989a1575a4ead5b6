"""Which functions: a clustering as affine functions f_i(y) = b_i - <a_i, y>, lower meaning closer."""

from ._bregman_diagram import BregmanDiagram
from ._diagram import AffineFunctions, Diagram, Located
from ._divergence import BregmanDivergence
from ._embedding import Embedding, LinearEmbedding
from ._feature_maps import FeatureEmbedding
from ._kernel_means import KernelEmbedding, embed_clusters
from ._power_diagram import PowerDiagram
from ._recession import RecessionDiagram
from ._reduction import Reduction

__all__ = [
    "AffineFunctions",
    "BregmanDiagram",
    "BregmanDivergence",
    "Diagram",
    "Embedding",
    "FeatureEmbedding",
    "KernelEmbedding",
    "LinearEmbedding",
    "Located",
    "PowerDiagram",
    "RecessionDiagram",
    "Reduction",
    "embed_clusters",
]
