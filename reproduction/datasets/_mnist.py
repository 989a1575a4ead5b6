"""The test set of MNIST."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from sklearn.utils import Bunch

from ._files import DataFile, obtain
from ._idx import format_idx, parse_idx

_IMAGES = DataFile(
    "mnist",
    "t10k-images-idx3-ubyte.gz",
    sha256="8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    unpacked_sha256="0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
)
_LABELS = DataFile(
    "mnist",
    "t10k-labels-idx1-ubyte.gz",
    sha256="f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    unpacked_sha256="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)
_N, _SIDE = 10_000, 28


def load_mnist_test(*, download_if_missing: bool = True) -> Bunch:
    """Load the test set of MNIST: 10,000 handwritten digits of 28 x 28 pixels.

    The two files are looked for in the folder named by the environment variable ``ALLEGIANCE_DATA``, then in the
    user's cache; if they are in neither, the set is taken from OpenML (``mnist_784``, whose last 10,000 rows it is) and
    kept in the cache. Whatever the source, the SHA-256 of the content must be that of the published files.

    Parameters
    ----------
    download_if_missing
        Whether to ask OpenML for files that are not found; if not, that is a FileNotFoundError at once.

    Returns
    -------
    Bunch
        ``data`` (10000, 784) pixels 0 to 255 as float64, ``target`` (10000,) the digits, ``images`` (10000, 28, 28) the
        same pixels, ``feature_names``, ``target_names``, ``DESCR``.

    Raises
    ------
    FileNotFoundError
        If there is no copy to be had; it says which files to put where.
    ValueError
        If a copy is truncated or altered.

    Examples
    --------
    >>> from reproduction.datasets import load_mnist_test
    >>> digits = load_mnist_test()  # doctest: +SKIP
    >>> digits.data.shape  # doctest: +SKIP
    (10000, 784)
    """
    packed_images, packed_labels = obtain(
        "The MNIST test set", [_IMAGES, _LABELS], _from_openml, download_if_missing=download_if_missing
    )
    images = parse_idx(packed_images, 3, _IMAGES.name).astype(np.float64)
    target = parse_idx(packed_labels, 1, _LABELS.name).astype(np.int64)
    return Bunch(
        data=images.reshape(images.shape[0], -1),
        target=target,
        images=images,
        feature_names=[f"pixel_{row}_{column}" for row in range(_SIDE) for column in range(_SIDE)],
        target_names=[str(digit) for digit in range(10)],
        DESCR=(
            "The test set of the MNIST database of handwritten digits (Y. LeCun, C. Cortes, C. J. C. Burges): 10,000 "
            "images of 28 x 28 pixels, 0 is background and 255 ink."
        ),
    )


def _from_openml() -> list[bytes]:
    """Return the two files, made from the last rows of OpenML's copy of the whole set."""
    from sklearn.datasets import fetch_openml

    # The parser that needs no pandas takes minutes and gigabytes for this set.
    parser = "pandas" if find_spec("pandas") else "liac-arff"
    whole = fetch_openml("mnist_784", version=1, as_frame=False, parser=parser, cache=False, n_retries=1)
    images = np.asarray(whole.data)[-_N:].astype(np.uint8).reshape(-1, _SIDE, _SIDE)
    labels = np.asarray(whole.target)[-_N:].astype(np.uint8)
    return [format_idx(images), format_idx(labels)]
