"""Speed and memory compared with what people use today: the parts of ``benchmarks/peers_speed.py``.

``_tasks`` has the jobs and the competitors, ``_measure`` runs one of them on one job in a process of its own,
``_campaign`` runs them all and keeps the results, ``_page`` shows them.
"""
