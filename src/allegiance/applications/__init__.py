"""Applications of the scores: active, incremental and consensus clustering, and comparing clusterings."""

from ._active import ActiveKMeans as ActiveKMeans
from ._compare import ClusteringComparison as ClusteringComparison
from ._compare import compare_clusterings as compare_clusterings
from ._consensus import ConsensusClustering as ConsensusClustering
from ._consensus import ConsensusValidation as ConsensusValidation
from ._consensus import validate_consensus as validate_consensus
from ._incremental import IncrementalKMeans as IncrementalKMeans
from ._split_and_merged import split_and_merged as split_and_merged
from ._stability_curve import StabilityCurve as StabilityCurve
from ._stability_curve import stability_curve as stability_curve
