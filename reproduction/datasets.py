"""The paper's datasets with their reference labels, and the random streams that experiments draw from."""

from __future__ import annotations

import gzip
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import sklearn.datasets

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
AnyArray: TypeAlias = npt.NDArray[Any]

#: Points per cluster, and the number that each corner gains in the larger set.
_POINTS, _EXTRA_POINTS = 100, 400
_SQUARE = np.array([[0, 0], [-3, -3], [-3, 3], [3, -3], [3, 3]], dtype=float)
#: The corners of a regular tetrahedron, as far from the middle as the corners of the square.
_TETRAHEDRON = np.sqrt(6.0) * np.array([[0, 0, 0], [1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
_MNIST_IMAGES = "mnist/t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
_MNIST_LABELS = "mnist/t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
_SOYBEAN = "soybean-small/soybean-small.data", "f096d1675db0270071311c9f46813b204372370bd68252a5a417bdcff5879717"


class DataSet(NamedTuple):
    """A labeled dataset under the paper's name."""

    name: str
    X: FloatArray
    reference: AnyArray
    centers: FloatArray | None = None
    """(k, d) means that the points were drawn around, if they were drawn."""

    @property
    def n_clusters(self) -> int:
        """The number of reference classes."""
        return int(np.unique(self.reference).size)


def stream(seed: int | None, *key: int) -> np.random.Generator:
    """Return the generator named ``key`` under ``seed``; different keys are independent."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def load_2d5c(n_points: int = 500, *, spread: float = 1.0, random_state: int | None = 0) -> DataSet:
    """Draw 2D5C: five Gaussians in the plane, four at the corners of a square and one in the middle.

    The paper gives cluster sizes and no coordinates. Ours: the middle is (0, 0), the corners are (±3, ±3), and every
    cluster is round with standard deviation ``spread``. 2D5C-500 has 100 points per cluster; 2D5C-2100 has the same 500
    points, followed by 400 more in each corner.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.datasets import load_2d5c
    >>> np.bincount(load_2d5c(2100).reference)
    array([100, 500, 500, 500, 500])
    """
    if n_points not in (500, 2100):
        raise ValueError(f"n_points must be 500 or 2100, got {n_points!r}.")
    codes = np.repeat(np.arange(5), _POINTS)
    if n_points == 2100:
        codes = np.concatenate([codes, np.repeat(np.arange(1, 5), _EXTRA_POINTS)])
    return DataSet(f"2D5C-{n_points}", _draw_gaussians(_SQUARE, codes, spread, random_state), codes, _SQUARE)


def load_3d5c(*, spread: float = 1.0, random_state: int | None = 0) -> DataSet:
    """Draw 3D5C: five Gaussians in space, four at the corners of a tetrahedron and one in the middle, 100 points each.

    The paper only names this dataset. Its clusters are as far from the middle as those of 2D5C, √18.
    """
    codes = np.repeat(np.arange(5), _POINTS)
    return DataSet("3D5C-500", _draw_gaussians(_TETRAHEDRON, codes, spread, random_state), codes, _TETRAHEDRON)


def _draw_gaussians(means: FloatArray, codes: IntArray, spread: float, random_state: int | None) -> FloatArray:
    """Draw one point around the mean of each code; appending codes leaves the first points unchanged."""
    return means[codes] + spread * stream(random_state).normal(size=(codes.size, means.shape[1]))


def load_iris() -> DataSet:
    """Load Iris from scikit-learn, whose copy differs from the UCI file that the paper names in two rows."""
    return DataSet("Iris", *sklearn.datasets.load_iris(return_X_y=True))


def load_soybean() -> DataSet:
    """Load Soybean (Small): 47 plants with one of four diseases, 35 categorical attributes coded as integers."""
    rows = [line.split(",") for line in _read_file(*_SOYBEAN).decode("ascii").split()]
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    return DataSet("Soybean", X, np.unique([row[-1] for row in rows], return_inverse=True)[1])


def load_mnist_test() -> DataSet:
    """Load the MNIST test set, 10,000 digits of 784 pixels."""
    images, labels = (_read_file(*file) for file in (_MNIST_IMAGES, _MNIST_LABELS))
    X = np.frombuffer(gzip.decompress(images), np.uint8, offset=16).reshape(-1, 784)
    return DataSet(
        "MNIST test data",
        X.astype(np.float64),
        np.frombuffer(gzip.decompress(labels), np.uint8, offset=8).astype(np.intp),
    )


def _read_file(name: str, sha256: str) -> bytes:
    """Return the content of a file below ``ALLEGIANCE_DATA``, after checking its hash."""
    path = Path(os.environ.get("ALLEGIANCE_DATA") or ".") / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist. Set the environment variable ALLEGIANCE_DATA to a folder with {name} "
            f"(SHA-256 {sha256})."
        )
    content = path.read_bytes()
    actual = hashlib.sha256(content).hexdigest()
    if actual != sha256:
        raise ValueError(f"{path} is truncated or altered: its SHA-256 is {actual}, expected {sha256}.")
    return content


def _load_scaled_mnist() -> DataSet:
    digits = load_mnist_test()
    return digits._replace(X=(digits.X / 255.0).astype(np.float32))


#: By the paper's names; the pixels of MNIST are from 0 to 1, in single precision.
LOADERS = {
    "2D5C-500": load_2d5c,
    "3D5C-500": load_3d5c,
    "Iris": load_iris,
    "Soybean": load_soybean,
    "MNIST test data": _load_scaled_mnist,
}


@cache
def load(name: str) -> DataSet:
    """Load a dataset by the paper's name, once."""
    return LOADERS[name]()


def load_available(*names: str) -> tuple[list[DataSet], list[str]]:
    """Return the datasets whose files exist, and a sentence for each of the others."""
    present, missing = [], []
    for name in names:
        try:
            present.append(load(name))
        except FileNotFoundError as error:
            missing.append(f"Skipped: {name}. {error}")
    return present, missing
