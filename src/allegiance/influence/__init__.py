"""Kinds of influence, which define closeness: affine functions f_i(y) = b_i - <a_i, y>, where lower is closer."""

from ._base import INFLUENCES as INFLUENCES
from ._base import AffineFunctions as AffineFunctions
from ._base import AnySummary as AnySummary
from ._base import Diagram as Diagram
from ._base import Influence as Influence
from ._base import Located as Located
from ._base import SpreadSums as SpreadSums
from ._base import Weights
from ._base import nearest_sites as nearest_sites
from ._bregman import KL, Bregman, ItakuraSaito, Logistic
from ._bregman import BregmanInfluence as BregmanInfluence
from ._bregman_diagram import BregmanDiagram as BregmanDiagram
from ._euclidean import Cosine, Mahalanobis, Within
from ._euclidean import Euclidean as Euclidean
from ._kernel import KERNELS as KERNELS
from ._kernel import Kernel
from ._kernel import KernelEmbedding as KernelEmbedding
from ._kernel import KernelSums as KernelSums
from ._kernel import with_short_indices as with_short_indices
from ._power_diagram import BLOCK_ROWS as BLOCK_ROWS
from ._power_diagram import LinearEmbedding as LinearEmbedding
from ._power_diagram import PowerDiagram as PowerDiagram
from ._power_diagram import block_features as block_features
from ._power_diagram import product_by_rows as product_by_rows

#: The names for users; the others are for other parts of the package.
__all__ = ["KL", "Bregman", "Cosine", "ItakuraSaito", "Kernel", "Logistic", "Mahalanobis", "Weights", "Within"]
