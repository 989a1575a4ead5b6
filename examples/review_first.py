"""
Which labels should I check first?
==================================

Ten clusters of handwritten digits. Trust estimates how many labels would hold up on a fresh sample, which clusters are
weak, and which images to check first. The true digits, which it has not seen, show how good that advice is.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from allegiance import trust

digits = load_digits()
# Letters, since the numbers of k-means would read like digits.
labels = np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(digits.data)]

# %%
# One call. It prints the share of labels that would hold up, and each cluster with its rival.
result = trust(digits.data, labels)
print(result)

# %%
# Each band is a cluster, its labels sorted by trust; labels that are not firm are hatched.
result.plot()

# %%
# The most and the least trusted members of each cluster.
result.plot.gallery(digits.images, cmap="gray_r")

# %%
# The rows to review, by priority. How many of them are wrong? A label counts as wrong here if the image shows another
# digit than most of its cluster.
review = result.review("5%")
print(review)

majority = {letter: np.bincount(digits.target[labels == letter]).argmax() for letter in np.unique(labels)}
wrong = digits.target != np.array([majority[letter] for letter in labels])
first = review.index
print(f"wrong among the 5% to review: {wrong[first].mean():.0%}, among all: {wrong.mean():.0%}")
