"""The command ``allegiance``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        try:
            import click as _click
            import rich as _rich
        except ImportError as error:
            print(f"allegiance: {error.name} is missing. pip install 'allegiance[cli]'", file=sys.stderr)
            sys.exit(1)
        del _click, _rich
        from ._app import program

        program.main()
    except KeyboardInterrupt:  # before the program has taken over
        print("Interrupted. No incomplete output was written.", file=sys.stderr)
        sys.exit(130)
