"""Find out which cluster labels would hold up on new data.

The public names are listed in ``__init__.pyi``. They are loaded on first use, so that importing the package is fast.
"""

import sys

import lazy_loader

if sys.byteorder != "little" or sys.maxsize < 2**32:
    raise ImportError("allegiance runs on 64-bit little-endian platforms (x86-64, arm64) with a 64-bit Python only.")

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
