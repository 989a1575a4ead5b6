"""Do low scores find wrong labels? The parts of ``benchmarks/study.py``, one idea per file.

``_datasets`` gives labeled data, ``_clusterers`` the clusterings to judge, ``_scores`` the scores that judge them,
``_misassigned`` the truth, ``_store`` the raw results.
"""
