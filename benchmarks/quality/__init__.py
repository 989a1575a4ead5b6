"""The parts of ``benchmarks/replication.py``.

``_datasets`` has the labeled data, ``_clusterers`` the clusterings that are judged, ``_peers`` and ``_scores`` the
scores that judge them, ``_misassigned`` the wrong labels, and ``_replicates`` independent replicates.
"""
