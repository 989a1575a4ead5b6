"""Fit a scorer: one algorithm for data in memory, in files and on many machines."""

from ._calibrate import calibrate_fitted as calibrate_fitted
from ._calibrate import score_by_calibration as score_by_calibration
from ._fit import AnySummary as AnySummary
from ._fit import Chunk as Chunk
from ._fit import InMemory as InMemory
from ._fit import LastPass as LastPass
from ._fit import Specification as Specification
from ._fit import Training as Training
from ._fit import fit as fit
from ._fit import needs_memory as needs_memory
from ._fitted import Fitted as Fitted
from ._fitted import PreparedInput as PreparedInput
from ._labels import NOISE as NOISE
from ._labels import Labels as Labels
from ._labels import align as align
from ._labels import labels_of as labels_of
from ._labels import merge_classes as merge_classes
from ._pipelines import Columns as Columns
from ._pipelines import cluster as cluster
from ._pipelines import fit_clusterer as fit_clusterer
from ._pipelines import fit_preparation as fit_preparation
from ._pipelines import has_pipeline as has_pipeline
from ._pipelines import training_labels as training_labels
from ._pipelines import unique_name as unique_name
from ._pipelines import unwrap_estimator as unwrap_estimator
