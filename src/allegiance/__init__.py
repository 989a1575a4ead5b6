"""Find out which cluster labels would hold up on new data.

The public names are listed in ``__init__.pyi``. They are loaded on first use, so that importing the package is fast.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
