"""The data sets of the paper, each with its reference labels."""

from __future__ import annotations

from ._five_gaussians import load_2d5c, load_3d5c
from ._iris import load_iris
from ._mnist import load_mnist_test
from ._soybean import load_soybean

__all__ = ["load_2d5c", "load_3d5c", "load_iris", "load_mnist_test", "load_soybean"]
