"""The command ``allegiance``."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]


def main() -> None:
    """Run the command line, or name the missing package."""
    try:
        if find_spec("click") is None:
            print("allegiance: the command needs click: pip install 'allegiance[cli]'", file=sys.stderr)
            sys.exit(1)
        from ._app import open_closed_streams, program

        open_closed_streams()
        program.main()
    except KeyboardInterrupt:  # before the program has taken over
        print("Interrupted. No incomplete output was written.", file=sys.stderr)
        sys.exit(130)
