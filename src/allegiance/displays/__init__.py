"""Pictures of affinities, as scikit-learn displays: ``from_estimator`` or ``from_result`` computes and draws."""

from ._affinity_map import AffinityMapDisplay
from ._affinity_profile import AffinityProfileDisplay
from ._diagram import DiagramDisplay
from ._flow import FlowDisplay
from ._gallery import GalleryDisplay
from ._result_plots import ResultPlots
from ._samples import SamplesDisplay
from ._stability_curve import StabilityCurveDisplay
from ._stolen_area import StolenAreaDisplay

__all__ = [
    "AffinityMapDisplay",
    "AffinityProfileDisplay",
    "DiagramDisplay",
    "FlowDisplay",
    "GalleryDisplay",
    "ResultPlots",
    "SamplesDisplay",
    "StabilityCurveDisplay",
    "StolenAreaDisplay",
]
