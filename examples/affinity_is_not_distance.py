"""
Is affinity just distance?
==========================

A point is equally far from two centers, c2 and c3. But c4 lies near c3 and owns part of the territory that the
point would otherwise take from it. Affinity accounts for this; distance does not.
"""

import numpy as np

from allegiance import AffinityScorer
from allegiance.displays import AffinityFieldDisplay
from allegiance.domains import Polytope

centers = np.array([[0.0, -2.0], [-3.0, 0.0], [3.0, 0.0], [3.0, 3.0]])
point = np.array([0.0, 0.0])

scorer = AffinityScorer(centers=centers, domain=Polytope.box([-6, -6], [6, 6]), influence="euclidean").fit(centers)
affinity = scorer.transform(point[None])[0]
distance = np.linalg.norm(centers - point, axis=1)

print("center  distance  by distance  affinity")
for i, (far, share) in enumerate(zip(distance, affinity, strict=True)):
    print(f"c{i + 1:<5}  {far:>8.2f}  {1 / far / (1 / distance).sum():>11.3f}  {share:>8.3f}")

# %%
# The affinity to c3 at every place. It fades toward c4, and at the point (0, 0) it is less than a fifth. The paper also
# counts where k-means puts such a point: ``python -m reproduction --only distance``.
AffinityFieldDisplay(scorer, centers, which=2).plot()
