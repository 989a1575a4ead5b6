"""Compare estimators of replication on cached clusterings: ``python benchmarks/estimators.py [--role tuning]``.

Samples, replicates and the clusterings of halves are computed once and kept in ``$ALLEGIANCE_CACHE``, so that a formula
for the estimate or its interval is compared in seconds. ``RULES`` says how halves are clustered, ``FORMULAS`` how
replication and its interval follow from their clusterings.
"""
