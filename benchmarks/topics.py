"""UMAP and HDBSCAN on real text: ``python benchmarks/topics.py``, about ten CPU minutes.

The texts are the docstrings of NumPy, SciPy and scikit-learn. Each split divides them into halves. We cluster one half,
estimate its replication in two ways, and then cluster the other half, which shows how many labels replicate. *Pipeline*
re-runs UMAP and HDBSCAN on subsamples of the embeddings; *coordinates* re-runs HDBSCAN alone on the UMAP coordinates.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from hdbscan import HDBSCAN
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import pairwise_distances_argmin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from umap import UMAP

from allegiance import trust
from allegiance.calibration import matches

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from embeddings import docstrings


def topic_pipeline(size):
    """Return BERTopic's default steps."""
    return make_pipeline(
        UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=0, n_jobs=1),
        HDBSCAN(min_cluster_size=size, core_dist_n_jobs=1),
    )


def replicated_share(pipeline, X, topics, other, seed):
    """Cluster an independent half and return the share of labels that replicate."""
    topics_of_other = clone(pipeline).set_params(umap__random_state=seed).fit_predict(other)
    return matches(topics, topics_of_other[pairwise_distances_argmin(X, other)])[topics >= 0].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20], help="min_cluster_size")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    texts, _ = docstrings()
    tfidf = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=3).fit_transform(texts)
    vectors = normalize(TruncatedSVD(60, random_state=0).fit_transform(tfidf))
    print("| min_cluster_size | split | topics | noise | independent half | pipeline | coordinates | CPU seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for size in options.sizes:
        for split in range(options.splits):
            order = np.random.default_rng(split).permutation(len(vectors))
            X, other = (vectors[rows] for rows in np.array_split(order, 2))
            pipeline = topic_pipeline(size)
            topics = pipeline.fit_predict(X)
            truth = replicated_share(pipeline, X, topics, other, split + 1)
            cells, seconds = [], []
            for data, clusterer in ((X, pipeline), (pipeline[0].embedding_, pipeline[-1])):
                started = time.process_time()
                result = trust(data, topics, clusterer=clusterer, n_resamples=10, random_state=0)
                seconds.append(f"{time.process_time() - started:.0f}")
                low, high = result.replication_interval
                cells.append(f"{result.replication:.2f} [{low:.2f}, {high:.2f}]{'' if low <= truth <= high else ' *'}")
            counts = f"{topics.max() + 1} | {(topics < 0).mean():.0%} | {truth:.2f}"
            print(f"| {size} | {split} | {counts} | {' | '.join(cells)} | {', '.join(seconds)} |", flush=True)
    print("\n*: the interval does not cover the share of the independent half")


if __name__ == "__main__":
    main()
