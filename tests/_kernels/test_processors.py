"""Results on processors with fewer instructions, which Numba is told to compile for."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

#: Settings of Numba that switch instructions off; a name alone keeps the features of the host.
PROCESSORS = {
    "without AVX-512": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+popcnt,+f16c"},
    "without fused multiplication": {"NUMBA_CPU_NAME": "sandybridge", "NUMBA_CPU_FEATURES": "+avx,+popcnt,+sse4.2"},
    "without AVX": {"NUMBA_CPU_NAME": "generic"},
}
JOBS = """
import json, sys
import numpy as np
from allegiance import affinity
from allegiance._kernels.affine_block import LANES

rng = np.random.default_rng(0)
jobs = {}
for name, d, k in (("exact", 2, 6), ("few", 8, 12), ("banks", 20, 40), ("reduced", 60, 30), ("reflected", 40, 60)):
    centers = 1.5 * rng.normal(size=(k, d))
    X = centers[np.arange(300) % k] + rng.normal(size=(300, d))
    result = affinity(X, centers=centers, influence="euclidean")
    jobs[name] = {"affinity": result.affinity.tolist(), "engine": result.frame(details=True)["engine"].tolist()}
print(json.dumps({"lanes": LANES, "jobs": jobs}))
"""


def _run(**environment):
    output = subprocess.run(
        [sys.executable, "-c", JOBS], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return json.loads(output.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSORS)
def test_results_on_an_older_processor(name):
    """Without AVX-512, rows measured by shared samples in the axes of X keep every bit. Sums that are reordered or not
    fused change last bits, so exact shares move by rounding and the others by less than twice ``eps``."""
    native, older = _run(), _run(**PROCESSORS[name])
    assert older["lanes"] == (8 if name == "without AVX" else 16)
    for job, expected in native["jobs"].items():
        result = older["jobs"][job]
        assert result["engine"] == expected["engine"]
        change = np.abs(np.array(result["affinity"]) - expected["affinity"]).max(axis=1)
        shared = np.array(expected["engine"]) == "shared"
        assert change[np.array(expected["engine"]) == "exact"].max(initial=0.0) < 1e-12
        if name == "without AVX-512" and job != "reduced":
            assert change[shared].max(initial=0.0) == 0.0
        assert change.max() < 0.06
