"""Hit-and-run on one polytope in plain NumPy, one step at a time: the twin of the compiled kernel."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def polytope_chain(
    position: Floats,
    slack: Floats,
    directions: Floats,
    products: Floats,
    uniforms: Floats,
    age: int,
    thin: int,
    kept: Floats,
) -> None:
    for direction, speeds, uniform in zip(directions, products, uniforms, strict=True):
        leaving, entering = speeds > 0, speeds < 0
        ahead = np.min(slack[leaving] / speeds[leaving], initial=np.inf)
        back = np.max(slack[entering] / speeds[entering], initial=-np.inf)
        chord = ahead - back
        if 0 < chord < np.inf:
            move = back + uniform * chord
            position += move * direction
            slack[:] = np.maximum(slack - move * speeds, 0.0)
        age += 1
        if age > 0 and age % thin == 0:
            kept[age // thin - 1] = position
