"""The application: page, commands, server, and who may use it."""

from allegiance._core import require

# Its classes build on those of tornado: without it, the import must say what to install.
require("tornado", "explorer", "the explorer")

from ._explorer import Explorer  # noqa: E402

__all__ = ["Explorer"]
