"""Do low scores find wrong labels, and is trust calibrated? The parts of ``benchmarks/study.py``, one idea per file.

``_datasets`` gives labelled data, ``_clusterers`` the clusterings to judge, ``_scores`` the scores that judge them,
``_misassigned`` the truth, ``_measures`` how well a score finds it, ``_reliability`` how far a chance is from it,
``_statistics`` the comparison over data sets, ``_gaps`` and ``_merged`` where trust fails and why, ``_store`` the raw
results, ``_pictures``, ``_page`` and ``_reliability_page`` what a reader sees.
"""
