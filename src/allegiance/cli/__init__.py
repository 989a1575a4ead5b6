"""The command ``allegiance``."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

__all__ = ["main"]


def main() -> None:
    """Run the command line, or name the missing package."""
    try:
        if find_spec("click") is None:
            print("allegiance: the command needs click: pip install 'allegiance[cli]'", file=sys.stderr)
            sys.exit(1)
        # Connect streams that the caller has closed to the null device, so that no file takes their place.
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
        sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
        sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
        from ._program import program

        program.main()
    except KeyboardInterrupt:  # before the program has taken over
        print("Interrupted. No incomplete output was written.", file=sys.stderr)
        sys.exit(130)
