"""Trust: the chance that each label holds, learnt by clustering halves of the data anew."""

from ._calibrate import calibrate, recluster
from ._company import Company
from ._evidence import Evidence
from ._member_distances import MemberDistances
from ._overlap import above_chance, expected_dice
from ._pairs import PairCompany, pair_company
from ._parameters import Calibration
from ._reviewed import Unreviewed, wrong_among_unreviewed
from ._row_sample import RowSample, row_priorities
from ._trust_map import ExpectedRight, Steps, TrustMap

__all__ = [
    "Calibration",
    "Company",
    "Evidence",
    "ExpectedRight",
    "MemberDistances",
    "PairCompany",
    "RowSample",
    "Steps",
    "TrustMap",
    "Unreviewed",
    "above_chance",
    "calibrate",
    "expected_dice",
    "pair_company",
    "recluster",
    "row_priorities",
    "wrong_among_unreviewed",
]
