"""Results: affinities of points, trust in their labels, counts by cluster, tables and summaries."""

from ._frames import FrameLike as FrameLike
from ._result import AffinityResult as AffinityResult
from ._result import Measurement as Measurement
from ._result import Ranks as Ranks
from ._result import join_results as join_results
from ._result import review_count as review_count
from ._result import review_rows as review_rows
from ._summary import ATYPICAL as ATYPICAL
from ._summary import FIRM as FIRM
from ._summary import VERDICTS as VERDICTS
from ._summary import ClusterFigures as ClusterFigures
from ._summary import Summary as Summary
from ._summary import check_names as check_names
from ._summary import count_by_cluster as count_by_cluster
from ._summary import display_name as display_name
from ._summary import format_review_cell as format_review_cell
