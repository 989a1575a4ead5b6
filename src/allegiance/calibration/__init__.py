"""Trust: the probability that each label replicates in an independent sample; and the audit."""

from ._adapt import FunctionClusterer, as_clusterer, is_pairwise
from ._audit import Audit, AuditSample, audit, audit_sample, wilson
from ._calibration import Calibration
from ._null import NullData
from ._replication import above_chance, matches, replicate
from ._samples import ContentSample, RowSample, content_keys, row_keys, row_priorities, take
from ._stand_in import stand_in
from ._trust_map import TrustMap, fit_trust_map

__all__ = [
    "Audit",
    "AuditSample",
    "Calibration",
    "ContentSample",
    "FunctionClusterer",
    "NullData",
    "RowSample",
    "TrustMap",
    "above_chance",
    "as_clusterer",
    "audit",
    "audit_sample",
    "content_keys",
    "fit_trust_map",
    "is_pairwise",
    "matches",
    "replicate",
    "row_keys",
    "row_priorities",
    "stand_in",
    "take",
    "wilson",
]
