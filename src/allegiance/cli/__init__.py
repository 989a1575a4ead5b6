"""The command ``allegiance``."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        if find_spec("click") is None:
            print("allegiance: click is missing. pip install 'allegiance[cli]'", file=sys.stderr)
            sys.exit(1)
        from ._app import program

        program.main()
    except KeyboardInterrupt:  # before the program has taken over
        print("Interrupted. No incomplete output was written.", file=sys.stderr)
        sys.exit(130)
