"""What is paid on import and on the first call: each test looks at a fresh process."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def run(script: str, **variables: str) -> str:
    """Run a script in a fresh interpreter and return what it printed."""
    words = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("statements", "libraries"),
    [
        (
            "from allegiance import AffinityResult, AffinityScorer, PrecisionWarning, affinity, trust\n"
            "from allegiance import clusterers, domains, engines, geometry, influence, metrics\n"
            "AffinityScorer(influence=influence.Kernel('rbf', approximation='nystroem'),\n"
            "               domain=domains.Polytope.box([0, 0], [1, 1]))",
            ["matplotlib", "numba", "polars"],
        ),
        (
            "import numpy, allegiance, allegiance.io.dask\nallegiance.affinity(numpy.eye(3), [0, 1, 1]).affinity",
            ["dask", "distributed"],
        ),
        ("import allegiance.displays", ["matplotlib", "bokeh"]),
        (
            "from allegiance._core.progress import progress\n"
            "with progress(3, 'measuring', True) as advance: advance(3)",
            ["rich", "tqdm", "IPython"],
        ),
    ],
    ids=["names and parameters", "affinity", "displays", "a progress bar that is not shown"],
)
def test_nothing_is_loaded_before_it_is_needed(statements, libraries):
    script = f"{statements}\nimport sys\nprint([name for name in {libraries!r} if name in sys.modules])"
    assert run(script) == "[]\n"


# scikit-learn imports pandas wherever it is installed, so "we do not import it" is tested as "we work without it".
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {missing!r}:
            raise ModuleNotFoundError("No module named " + name, name=name)

sys.meta_path.insert(0, Missing())
"""


@pytest.mark.parametrize(
    ("missing", "statements", "printed"),
    [
        (
            ["pandas"],
            """
            import polars
            from allegiance import affinity
            X = polars.DataFrame({"a": [0.0, 1.0, 4.0, 9.0, 10.0], "b": [1.0, 0.0, 2.0, 1.0, 3.0]})
            frame = affinity(X, polars.Series([0, 0, 1, 1, 1])).frame()
            print(type(frame).__module__.split(".")[0], frame.shape)
            """,
            ["polars", "(5, 5)"],
        ),
        (
            ["pandas", "polars", "pyarrow"],
            """
            import numpy as np
            from allegiance import affinity
            result = affinity(np.arange(10.0)[:, None], [0] * 5 + [1] * 5)
            print(result)
            try:
                result.frame()
            except ImportError as error:
                print(error)
            """,
            ["10 points", "a table needs pandas: pip install 'allegiance[io]'"],
        ),
        (
            ["pandas", "polars", "pyarrow"],
            """
            import numpy as np, os, tempfile
            from allegiance import AffinityScorer, load
            os.chdir(tempfile.mkdtemp())
            X = np.random.default_rng(0).normal(size=(30, 2))
            scorer = AffinityScorer(calibration=2).fit(X, np.arange(30) % 3)
            scorer.save("own.model")
            print("same:", (load("own.model").transform(X) == scorer.transform(X)).all())
            """,
            ["same: True"],
        ),
    ],
    ids=["polars in and out", "NumPy in and a summary out", "saved models"],
)
def test_what_needs_no_frame_library(missing, statements, printed):
    actual = run(WITHOUT.format(missing=missing) + textwrap.dedent(statements))
    assert all(text in actual for text in printed)


#: Every engine, in one, few and many dimensions, over every domain, with inputs of every kind.
EVERY_ENGINE = """
    import pathlib, tempfile, warnings
    import joblib, numpy as np, scipy.sparse as sp
    from allegiance import AffinityScorer, PrecisionWarning, affinity
    from allegiance.domains import Polytope
    from allegiance.geometry import sample_polytope
    from allegiance.engines import Auto
    from allegiance.engines import ENGINES

    warnings.simplefilter("ignore", PrecisionWarning)
    rng = np.random.default_rng(0)
    common = dict(eps=0.2, engine=Auto(max_samples=20_000))

    def frozen(values):
        values = np.array(values)
        values.flags.writeable = False
        return values

    for d, k in [(1, 3), (2, 4), (3, 3), (6, 8), (9, 4), (9, 20)]:
        X = rng.normal(size=(140, d))
        labels = np.arange(140) % k
        near = X.mean(axis=0) + 0.01 * X
        for domain in ["box", "ball", "space", Polytope.box(X.min(axis=0) - 1, X.max(axis=0) + 1)]:
            for n_jobs in [1, 2]:
                scorer = AffinityScorer(domain=domain, n_jobs=n_jobs, **common).fit(X, labels)
                for kind in [X, near, X.astype(np.float32), np.asfortranarray(X), X[::2], sp.csr_array(X), frozen(X)]:
                    scorer.affinity(kind).typicality
        # As joblib hands it to its worker processes: every array read-only.
        with tempfile.TemporaryDirectory() as folder:
            joblib.dump(scorer, pathlib.Path(folder) / "scorer")
            joblib.load(pathlib.Path(folder) / "scorer", mmap_mode="r").affinity(X).typicality
        for engine in [ENGINES["shared"](20_000), ENGINES["hit-and-run"](20_000), "exact"]:
            if engine != "exact" or min(d, k - 1) <= 3:
                few = dict(influence="euclidean", eps=0.2, engine=engine)
                affinity(X[:8], labels[:8], **few)
                affinity(frozen(X[:8]), frozen(labels[:8]), centers=frozen(X[:k]), **few)
        affinity(X[:8], np.arange(8) % 2, domain="space", **common)
    # In this many dimensions samples are reflected.
    wide = rng.normal(size=(90, 40))
    for kind in [wide[:8], wide[:8].astype(np.float32), frozen(wide[:8])]:
        affinity(kind, centers=frozen(wide[50:]), influence="euclidean", **common)
    for directions in ["random", "coordinate"]:
        walls = np.vstack([np.eye(3), -np.eye(3)])
        sample_polytope(frozen(walls), np.ones(6), 10, directions=directions, random_state=0)
        sample_polytope(walls.tolist(), [1] * 6, 10, random_state=0)
"""

COUNT_SIGNATURES = """
    import importlib, json, pkgutil
    import allegiance._kernels
    signatures = {}
    for module in pkgutil.iter_modules(allegiance._kernels.__path__, "allegiance._kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if hasattr(value, "signatures") and value.__module__ == module.name:
                signatures[name] = [str(signature) for signature in value.signatures]
    print(json.dumps(signatures))
"""


def test_each_kernel_is_compiled_for_one_signature():
    signatures = json.loads(run(textwrap.dedent(EVERY_ENGINE) + textwrap.dedent(COUNT_SIGNATURES)))
    # Those that only kernels call are part of the kernels' code.
    called_from_python = {name: seen for name, seen in signatures.items() if not name.startswith("_")}
    assert len(called_from_python) > 10
    assert {name: seen for name, seen in called_from_python.items() if len(seen) != 1} == {}


REMARK = "Compiling kernels"


def test_the_command_remarks_on_compiling_if_it_is_verbose(tmp_path):
    """Also where no progress is shown, since standard error is not a terminal."""
    (tmp_path / "points.csv").write_text("a,b,cluster\n" + "".join(f"{i},{i % 3},{i // 5}\n" for i in range(10)))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [Path(sys.executable).parent / "allegiance", "score", tmp_path / "points.csv", "--labels", "cluster"]

    def message(*options: str) -> str:
        done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment, check=True)
        return done.stderr

    assert REMARK in message("--verbose")
    assert REMARK not in message("--verbose")
    shutil.rmtree(tmp_path / "kernels")
    assert REMARK not in message()
