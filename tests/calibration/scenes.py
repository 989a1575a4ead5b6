"""Points with scores, made without the rest of the package."""

import numpy as np

from allegiance.calibration import Evidence


def scores(points, codes, centers):
    """Stand-ins for own affinity and closeness, and the distance from the own centre."""
    distance = np.linalg.norm(points[:, None] - centers[None], axis=2)
    rows = np.arange(len(points))
    own = distance[rows, codes]
    distance[rows, codes] = np.inf
    other = distance.min(axis=1)
    if len(centers) == 1:
        return np.ones(len(points)), np.ones(len(points)), own
    close = (1 + (other - own) / np.maximum(np.maximum(other, own), 1e-300)) / 2
    return np.where(close > 0.5, 1 - (1 - close) ** 2, close**2), close, own


def evidence(points, codes, k=None):
    """Evidence for labels (n,), -1 for noise, with the means as representatives."""
    k = int(codes.max()) + 1 if k is None else k
    members = [points[codes == i] for i in range(k)]
    centers = np.array([own.mean(axis=0) if len(own) else np.full(points.shape[1], 1e3) for own in members])
    return Evidence(points, codes, *scores(points, np.maximum(codes, 0), centers)), centers


def blobs(rng, n=600, k=3, d=2, apart=6.0):
    """Gaussian clusters of unit variance around random centres, and their numbers."""
    centers = rng.normal(size=(k, d)) * apart / np.sqrt(2 * d)
    codes = np.arange(n) % k
    return centers[codes] + rng.normal(size=(n, d)), codes
