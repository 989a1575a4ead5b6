"""The small soybean set of the UCI repository."""

from __future__ import annotations

from urllib.request import urlopen

import numpy as np
from sklearn.utils import Bunch

from ._files import DataFile, obtain

_SHA256 = "f096d1675db0270071311c9f46813b204372370bd68252a5a417bdcff5879717"
_FILE = DataFile("soybean-small", "soybean-small.data", sha256=_SHA256, unpacked_sha256=_SHA256)
_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/soybean/soybean-small.data"
_SECONDS_TO_WAIT = 60
_DISEASES = {
    "D1": "diaporthe stem canker",
    "D2": "charcoal rot",
    "D3": "rhizoctonia root rot",
    "D4": "phytophthora rot",
}
_FEATURES = [
    "date",
    "plant-stand",
    "precip",
    "temp",
    "hail",
    "crop-hist",
    "area-damaged",
    "severity",
    "seed-tmt",
    "germination",
    "plant-growth",
    "leaves",
    "leafspots-halo",
    "leafspots-marg",
    "leafspot-size",
    "leaf-shread",
    "leaf-malf",
    "leaf-mild",
    "stem",
    "lodging",
    "stem-cankers",
    "canker-lesion",
    "fruiting-bodies",
    "external-decay",
    "mycelium",
    "int-discolor",
    "sclerotia",
    "fruit-pods",
    "fruit-spots",
    "seed",
    "mold-growth",
    "seed-discolor",
    "seed-size",
    "shriveling",
    "roots",
]


def load_soybean(*, download_if_missing: bool = True) -> Bunch:
    """Load Soybean (Small): 47 plants with one of four diseases, 35 categorical attributes coded as integers.

    ``soybean-small.data`` is looked for in the folder named by the environment variable ``ALLEGIANCE_DATA``, then in
    the user's cache; if it is in neither, it is taken from the UCI repository and kept in the cache. We know of no copy
    on OpenML, whose ``soybean`` is the large set. Whatever the source, the SHA-256 of the file must be the known one.

    Parameters
    ----------
    download_if_missing
        Whether to ask the UCI repository for a file that is not found; if not, that is a FileNotFoundError at once.

    Returns
    -------
    Bunch
        ``data`` (47, 35) codes as float64, 14 columns of them constant, ``target`` (47,) the disease,
        ``feature_names``, ``target_names``, ``DESCR``.

    Raises
    ------
    FileNotFoundError
        If there is no copy to be had; it says which file to put where.
    ValueError
        If the copy is truncated or altered.

    Examples
    --------
    >>> from reproduction.datasets import load_soybean
    >>> load_soybean().data.shape  # doctest: +SKIP
    (47, 35)
    """
    (content,) = obtain("Soybean (Small)", [_FILE], _from_uci, download_if_missing=download_if_missing)
    rows = [line.split(",") for line in content.decode("ascii").split()]
    return Bunch(
        data=np.array([row[:-1] for row in rows], dtype=np.float64),
        target=np.array([list(_DISEASES).index(row[-1]) for row in rows]),
        feature_names=list(_FEATURES),
        target_names=list(_DISEASES.values()),
        DESCR=(
            "Soybean (Small) of the UCI Machine Learning Repository (R. S. Michalski and R. L. Chilausky): 47 plants, "
            "35 categorical attributes, 10 plants each of diseases D1, D2, D3 and 17 of D4."
        ),
    )


def _from_uci() -> list[bytes]:
    with urlopen(_ADDRESS, timeout=_SECONDS_TO_WAIT) as response:
        return [response.read()]
