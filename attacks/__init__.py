"""Attacks on the package: what it promises, tried again and again by someone who wants to see it fail.

``python -m attacks`` (``make attack``) runs all of them and writes their counts to ``docs/reliability.md``. Each module
holds one kind of attack; a new one is one file, named in ``_common.MODULES``. The slow tests run a short form of each.
"""
