"""Pictures of affinities, as scikit-learn displays: ``from_estimator`` or ``from_result`` computes and draws."""

from ._affinity_map import AffinityMapDisplay
from ._affinity_profile import AffinityProfileDisplay
from ._diagram import DiagramDisplay
from ._flow import FlowDisplay
from ._gallery import GalleryDisplay
from ._samples import SamplesDisplay
from ._stolen_area import StolenAreaDisplay

__all__ = [
    "AffinityMapDisplay",
    "AffinityProfileDisplay",
    "DiagramDisplay",
    "FlowDisplay",
    "GalleryDisplay",
    "SamplesDisplay",
    "StolenAreaDisplay",
]
