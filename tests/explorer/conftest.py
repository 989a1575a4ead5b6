import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import trust
from allegiance.explorer.state import DecisionLog, Session, Subject
from allegiance.report import check_features


def overlapping(n=300, k=4, d=5, seed=3, names=None):
    """Clusters that touch each other, with labels of k-means, as numbers or under ``names``."""
    X, _ = make_blobs(n, d, centers=k, cluster_std=4.0, random_state=seed)
    labels = KMeans(k, n_init=2, random_state=0).fit_predict(X)
    return X, labels if names is None else np.array(names)[labels]


@pytest.fixture(scope="module")
def scored():
    """Return data and the trust in its labels."""
    X, labels = overlapping()
    return X, trust(X, labels)


@pytest.fixture
def subject(scored):
    X, result = scored
    ids = {"customer": [f"c{row}" for row in range(len(X))]}
    return Subject.of_result(result, features=check_features(X, None, len(X)), ids=ids)


@pytest.fixture
def session(subject, tmp_path):
    made = Session(subject, DecisionLog(tmp_path / "log.jsonl", subject))
    yield made
    made.close()
