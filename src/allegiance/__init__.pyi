from . import clusterers as clusterers
from . import displays as displays
from . import domains as domains
from . import drift as drift
from . import engines as engines
from . import geometry as geometry
from . import influence as influence
from . import io as io
from . import metrics as metrics
from ._api import affinity as affinity
from ._api import trust as trust
from ._scorer import AffinityScorer as AffinityScorer
from .applications import ActiveKMeans as ActiveKMeans
from .applications import ConsensusClustering as ConsensusClustering
from .applications import IncrementalKMeans as IncrementalKMeans
from .applications import compare_clusterings as compare_clusterings
from .applications import stability_curve as stability_curve
from .applications import validate_consensus as validate_consensus
from .calibration import Calibration as Calibration
from .engines import PrecisionWarning as PrecisionWarning
from .io.saved import load as load
from .results import AffinityResult as AffinityResult

__version__: str
