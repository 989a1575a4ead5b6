"""Do low scores find the misassigned points? The parts of ``benchmarks/study.py``, one concept per file.

``_datasets`` gives labelled data, ``_clusterers`` the clusterings to judge, ``_scores`` the scores that judge them,
``_misassigned`` the truth, ``_measures`` how well a score finds it, ``_statistics`` the comparison over data sets,
``_gaps`` why affinity loses where it does, ``_store`` the raw results, ``_pictures`` and ``_page`` what a reader sees.
"""
