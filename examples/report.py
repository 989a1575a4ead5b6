"""
What do I show my colleagues?
=============================

One file that opens in any browser, without a network: the share of labels that would hold up, the drivers, the
clusters, a map, and the labels to check with their images.
"""

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from allegiance import trust

digits = load_digits()
# Letters, since the numbers of k-means would read like digits.
labels = np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(digits.data)]
result = trust(digits.data, labels)

path = Path("out") / "report.html"
path.parent.mkdir(exist_ok=True)
result.report(
    path,
    digits.data,
    images=16 - digits.images,  # ink is dark on paper
    feature_names=[name.replace("_", " ") for name in digits.feature_names],
    title="Digits in ten clusters",
)
print(f"Open {path} in a browser.")
# sphinx_gallery_thumbnail_path = "images/report.png"

# %%
# .. image:: /images/report.png
#    :alt: The first screen of a report: tiles, headline and drivers
#
# :doc:`/report` explains the page and how to work with it.
