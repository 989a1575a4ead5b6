"""Trust in the clusters of an AnnData object, by the conventions of scanpy: ``import allegiance.anndata as al``.

``trust`` writes what it finds next to the labels, ``result`` gives it as an object, ``pl`` draws it, ``report`` writes
the page. ``_matrix`` finds what was clustered, ``_groups`` reads the labels, ``_score`` scores, in memory or from the
file of a backed object, ``_record`` writes to the object, ``_leiden`` clusters halves anew.
"""

from . import pl
from ._leiden import Leiden
from ._report import report
from ._trust import result, trust

__all__ = ["Leiden", "pl", "report", "result", "trust"]
