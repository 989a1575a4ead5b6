"""Kinds of influence, which define closeness: affine functions f_i(y) = b_i - <a_i, y>, where lower is closer."""

from ._base import INFLUENCES as INFLUENCES
from ._base import Influence as Influence
from ._bregman import KL, Bregman, ItakuraSaito, Logistic
from ._bregman import BregmanDiagram as BregmanDiagram
from ._bregman import BregmanInfluence as BregmanInfluence
from ._diagram import AffineFunctions as AffineFunctions
from ._diagram import Diagram as Diagram
from ._diagram import Located as Located
from ._diagram import nearest_sites as nearest_sites
from ._euclidean import Cosine, Mahalanobis
from ._euclidean import Euclidean as Euclidean
from ._kernel import KERNELS as KERNELS
from ._kernel import Kernel
from ._kernel import KernelEmbedding as KernelEmbedding
from ._kernel import KernelSums as KernelSums
from ._kernel import with_short_indices as with_short_indices
from ._linear_embedding import BLOCK_ROWS as BLOCK_ROWS
from ._linear_embedding import LinearEmbedding as LinearEmbedding
from ._linear_embedding import block_features as block_features
from ._linear_embedding import product_by_rows as product_by_rows
from ._power_diagram import PowerDiagram as PowerDiagram
from ._weights import SpreadSums as SpreadSums
from ._weights import Weights
from ._within import Within

#: The names for users; the others are for other parts of the package.
__all__ = ["KL", "Bregman", "Cosine", "ItakuraSaito", "Kernel", "Logistic", "Mahalanobis", "Weights", "Within"]
