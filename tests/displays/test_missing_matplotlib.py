"""Without matplotlib: importing works, drawing says what to install."""

import subprocess
import sys

import pytest

from allegiance.displays import AffinityProfileDisplay


def test_importing_displays_loads_no_library_of_pictures():
    code = (
        "import sys, allegiance.displays\n"
        "loaded = {'matplotlib', 'polars', 'bokeh', 'umap'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_drawing_without_matplotlib_names_the_extra(monkeypatch):
    from allegiance import affinity

    result = affinity([[0.0], [1.0], [9.0]], [0, 0, 1])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"AffinityProfileDisplay.plot needs .*allegiance\[plot\]"):
        AffinityProfileDisplay.from_result(result)
