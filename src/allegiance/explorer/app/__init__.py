"""The application: page, commands, server, and who may use it."""

from ._explorer import Explorer

__all__ = ["Explorer"]
