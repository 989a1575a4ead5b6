"""Kinds that installed packages add."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

#: Packages that add kinds name the module that registers them under this group of entry points.
_GROUP = "allegiance.plugins"


@cache
def load_plugins() -> None:
    """Import, once, the modules in which installed packages register their kinds."""
    for plugin in entry_points(group=_GROUP):
        plugin.load()
