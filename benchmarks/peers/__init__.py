"""Speed and memory beside what people use today: the parts of ``benchmarks/peers_speed.py``.

``_scenes`` gives the jobs, ``_tasks`` the competitors, ``_measure`` runs one of them on one job in a process of its
own, ``_campaign`` runs them all and keeps the results, ``_known`` looks them up, ``_page`` and ``_picture`` show them.
"""
