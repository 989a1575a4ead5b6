"""Reading back what was written."""

import pandas as pd
from packaging.version import Version


def read_exactly(path):
    """Return a CSV file as a frame of pandas with every digit of its numbers, which is pandas' default since 3.1."""
    asked = {} if Version(pd.__version__) >= Version("3.1") else {"float_precision": "round_trip"}
    return pd.read_csv(path, **asked)
