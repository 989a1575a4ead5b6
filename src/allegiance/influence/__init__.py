"""What closeness means: kinds of influence, each a set of affine functions f_i(y) = b_i - <a_i, y>, lower is closer."""

from ._bregman import KL, Bregman, BregmanInfluence, ItakuraSaito, Logistic
from ._bregman_diagram import BregmanDiagram
from ._cosine import Cosine
from ._diagram import AffineFunctions, Diagram, Located
from ._divergence import BregmanDivergence, check_rows_inside
from ._embedding import Embedding, LinearEmbedding
from ._euclidean import Euclidean, Mahalanobis, Within
from ._feature_maps import Approximation, FeatureEmbedding, Fourier, Hashing, Nystroem, features_of, padded_features
from ._generators import DIVERGENCES, divergence_by_name
from ._influence import INFLUENCES, AnySummary, Influence, Summary, Training
from ._kernel import Kernel
from ._kernel_blocks import KERNEL_COLUMNS, check_kernel_values, column_blocks, for_kernel_rows, prepare_block
from ._kernel_means import KernelEmbedding, KernelMeans
from ._kernel_values import BLOCK_ROWS, KERNELS, KernelFunction, KernelRows, SettledKernel, float_rows, row_blocks
from ._power_diagram import PowerDiagram
from ._recession import RecessionDiagram
from ._reduction import Reduction
from ._weights import WEIGHTS, SpreadSums, Weights

__all__ = [
    "BLOCK_ROWS",
    "DIVERGENCES",
    "INFLUENCES",
    "KERNELS",
    "KERNEL_COLUMNS",
    "KL",
    "WEIGHTS",
    "AffineFunctions",
    "AnySummary",
    "Approximation",
    "Bregman",
    "BregmanDiagram",
    "BregmanDivergence",
    "BregmanInfluence",
    "Cosine",
    "Diagram",
    "Embedding",
    "Euclidean",
    "FeatureEmbedding",
    "Fourier",
    "Hashing",
    "Influence",
    "ItakuraSaito",
    "Kernel",
    "KernelEmbedding",
    "KernelFunction",
    "KernelMeans",
    "KernelRows",
    "LinearEmbedding",
    "Located",
    "Logistic",
    "Mahalanobis",
    "Nystroem",
    "PowerDiagram",
    "RecessionDiagram",
    "Reduction",
    "SettledKernel",
    "SpreadSums",
    "Summary",
    "Training",
    "Weights",
    "Within",
    "check_kernel_values",
    "check_rows_inside",
    "column_blocks",
    "divergence_by_name",
    "features_of",
    "float_rows",
    "for_kernel_rows",
    "padded_features",
    "prepare_block",
    "row_blocks",
]
