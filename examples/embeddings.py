"""
Which influence suits vectors of documents?
===========================================

The documents are the docstrings of NumPy, SciPy and scikit-learn, the vectors TF-IDF weights and their reductions.
Topics come from k-means of normalized rows. A document counts as right if most of its topic comes from the same
subpackage, which trust never sees. ``python examples/embeddings.py --all`` adds vectors that are reduced less or not at
all. See also :doc:`/tutorials/documents`.
"""

import importlib
import inspect
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.preprocessing import normalize

from allegiance import trust

PARTS = {
    "numpy": "fft linalg ma polynomial random testing",
    "scipy": "cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats",
    "sklearn": "cluster covariance datasets decomposition ensemble feature_selection linear_model manifold metrics "
    "neighbors preprocessing svm tree",
}


def docstrings() -> tuple[list[str], np.ndarray]:
    """Return the docstrings without their examples, and the subpackage of each."""
    package_of: dict[str, str] = {}
    for package, parts in PARTS.items():
        for part in parts.split():
            module = importlib.import_module(f"{package}.{part}")
            for name in module.__all__:
                text = (inspect.getdoc(getattr(module, name, None)) or "").partition("Examples\n----")[0]
                if len(text) > 200:
                    package_of.setdefault(text, f"{package}.{part}")
    return list(package_of), np.array(list(package_of.values()))


def is_right(labels: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return whether each document belongs to the most frequent subpackage of its topic."""
    right = np.zeros(labels.size, dtype=bool)
    for topic in np.unique(labels):
        kinds, counts = np.unique(truth[labels == topic], return_counts=True)
        right |= (labels == topic) & (truth == kinds[counts.argmax()])
    return right


def main(everything: bool) -> None:
    """Print one line for each kind of vectors, number of topics and influence, and draw the ROC curves."""
    texts, truth = docstrings()
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    vectors = {f"TF-IDF, {tfidf.shape[1]:,} columns": tfidf} if everything else {}
    for d in (50, 384) if everything else (50,):
        vectors[f"reduced to {d}"] = TruncatedSVD(d, random_state=0).fit_transform(tfidf)
    print(f"{len(texts):,} documents of {np.unique(truth).size} subpackages")
    print("| vectors | topics | influence | right | replication | AUROC | CPU seconds |\n|---|---|---|---|---|---|---|")
    for name, X in vectors.items():
        for k in (20, 50):
            labels = KMeans(k, n_init=3, random_state=0).fit_predict(normalize(X))
            right = is_right(labels, truth)
            for influence in ("cosine", "euclidean", "within"):
                started = time.process_time()
                result = trust(X, labels, influence=influence)
                spent = time.process_time() - started
                line = f"{right.mean():.2f} | {result.replication:.2f} | {roc_auc_score(right, result.trust):.3f}"
                print(f"| {name} | {k} | {influence} | {line} | {spent:.1f} |", flush=True)
                if name == "reduced to 50" and k == 20:
                    RocCurveDisplay.from_predictions(~right, -result.trust, name=influence, ax=plt.gca())
    plt.gca().set(
        xlabel="share of correctly placed documents reviewed",
        ylabel="share of misplaced documents detected",
        title="Least trusted first: 50 dimensions, 20 topics",
    )


if __name__ == "__main__":
    main(everything="--all" in sys.argv)
