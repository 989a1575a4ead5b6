"""Dask collections: lazy, partition by partition, with the numbers that NumPy gives."""

import copy
import os
import pickle
import signal
import time
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer, PrecisionWarning, affinity, trust
from allegiance.drift import compare_profiles
from allegiance.drivers import drivers
from allegiance.engines import Auto
from allegiance.influence import Mahalanobis, Weights, Within
from allegiance.io import Model, propose
from allegiance.io.dask import LazyAffinityResult, connect
from allegiance.io.streams import score_stream

ARRAYS = ("affinity", "standard_error", "label", "rival", "own_affinity", "typicality", "stable", "priority")
TRUST = ("trust", "verdict")


X, LABELS = make_blobs(600, n_features=6, centers=8, cluster_std=4.0, random_state=0)
CENTERS = np.array([X[i == LABELS].mean(axis=0) for i in range(8)])
CLUSTERER = KMeans(8, n_init=2, random_state=0)
GIVEN: dict[str, Any] = {"influence": "euclidean", "centers": CENTERS, "random_state": 0}


def in_dask(values: np.ndarray, rows: int = 170) -> da.Array:
    return da.from_array(values, chunks=(rows, *(4 for _ in values.shape[1:])))


def assert_same(one: Any, other: Any, names: tuple[str, ...] = ARRAYS) -> None:
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize(
    "settings",
    [{}, {"calibration": 5}, *(pytest.param(settings, marks=pytest.mark.slow) for settings in [
        {"weights": "size"}, {"domain": "ball"}, {"domain": "space"}, {"engine": "hit-and-run"},
        {"influence": Mahalanobis(np.cov(X.T))}])],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("top", [None, 2])
def test_given_centers_give_the_bits_of_numpy(settings, top):
    settings = {"influence": "euclidean"} | settings
    data, centers = X / 20, CENTERS / 20
    expected = affinity(data, centers=centers, random_state=0, top=top, **settings)
    lazy = affinity(in_dask(data), centers=centers, random_state=0, top=top, **settings)
    assert isinstance(lazy, LazyAffinityResult)
    names = (*ARRAYS, *(TRUST if "calibration" in settings else ()), *(["clusters"] if top else []))
    assert_same(lazy.compute(), expected, names)
    computed = dask.compute({name: getattr(lazy, name) for name in names})[0]
    for name in names:
        np.testing.assert_array_equal(computed[name], getattr(expected, name), err_msg=name)


@pytest.mark.parametrize(
    "settings",
    [{}, {"influence": "within"}, {"influence": Within(), "domain": "ball"},
     {"weights": Weights("density", scale="auto")}, {"domain": "ball"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("known", [True, False])
def test_labels_give_the_bits_of_numpy(settings, known):
    labels = in_dask(LABELS, 200) if known else LABELS
    expected = AffinityScorer(random_state=0, **settings).fit(X, LABELS)
    scorer = AffinityScorer(random_state=0, **settings).fit(in_dask(X), labels)
    np.testing.assert_array_equal(scorer.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(scorer.transform(X), expected.transform(X))
    lazy = AffinityScorer(random_state=0, **settings).fit_affinity(in_dask(X), labels)
    np.testing.assert_array_equal(lazy.label.compute(), LABELS)


def test_methods_return_lazy_arrays():
    scorer = AffinityScorer(KMeans(8, n_init=1, random_state=0), random_state=0).fit(X)
    lazy = in_dask(X)
    for method in ("transform", "predict", "score_samples"):
        result = getattr(scorer, method)(lazy)
        assert isinstance(result, da.Array)
        assert result.chunks[0] == lazy.chunks[0]
        expected = getattr(scorer, method)(X)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(result.compute(), expected)
    for method in ("fit_predict", "fit_transform"):
        result, expected = (getattr(AffinityScorer(**GIVEN), method)(data) for data in (lazy, X))
        np.testing.assert_array_equal(result.compute(), expected)


def test_frames_of_unknown_length():
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(600) + 50)
    lazy = dd.from_pandas(frame, npartitions=4)
    names = np.array(list("abcdefgh"))[LABELS]
    labels = dd.from_pandas(pd.Series(names, index=frame.index), npartitions=4)
    result = affinity(lazy, labels, random_state=0)
    expected = affinity(frame, names, random_state=0)
    np.testing.assert_array_equal(result.label.compute(), names)
    np.testing.assert_allclose(result.affinity.compute(), expected.affinity, atol=5e-3)
    table = result.frame()
    assert isinstance(table, dd.DataFrame)
    assert list(table.columns) == list(expected.frame().columns)
    output = table.compute()
    assert list(output.index) == list(result.compute().frame().index) == list(frame.index)
    assert list(output["label"]) == list(names)
    scorer = AffinityScorer(random_state=0).fit(lazy, labels)
    assert list(scorer.feature_names_in_) == list("abcdef")
    assert scorer.transform(lazy).shape[1] == 8
    with pytest.raises(ValueError, match="feature names"):
        scorer.transform(lazy.rename(columns={"a": "z"})).compute()


def test_empty_partitions():
    columns = list("abcdef")
    frame = dd.from_pandas(pd.DataFrame(X, columns=columns).assign(row=np.arange(600)), npartitions=3)
    some = frame[frame["row"] >= 300][columns]
    kept = some.compute().to_numpy()
    assert_same(affinity(some, **GIVEN).compute(), affinity(kept, **GIVEN))
    scorer = AffinityScorer(**GIVEN).fit(some)
    np.testing.assert_array_equal(scorer.predict(some).compute(), scorer.predict(pd.DataFrame(kept, columns=columns)))
    with pytest.raises(ValueError, match="no rows"):
        affinity(frame[frame["row"] >= 600][columns], **GIVEN)


def test_nothing_is_computed_before_it_is_asked_for():
    calls = []

    def counted(block: np.ndarray) -> np.ndarray:
        calls.append(block.shape)
        return block

    lazy = in_dask(X).map_blocks(counted, dtype=float, meta=np.empty((0, 0)))
    result = AffinityScorer(**GIVEN).fit(X).affinity(lazy)
    assert calls == []
    assert "600 points in 4 partitions, 8 clusters" in repr(result)
    with dask.config.set(scheduler="synchronous"):
        dask.compute(result.affinity, result.label, result.rival)
    assert len(calls) == 8, "four partitions, each of two chunks of columns, once"
    with pytest.raises(AttributeError, match="pass top="):
        _ = result.clusters


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Any]:
    """A folder of eight small Parquet files with a column of labels, of which Dask likes to read several at once."""
    path = tmp_path_factory.mktemp("rows")
    for part, rows in enumerate(np.array_split(np.arange(600), 8)):
        frame = pd.DataFrame(X[rows], columns=FEATURES).assign(cluster=LABELS[rows].astype("int16"))
        frame.to_parquet(path / f"{part}.parquet")
    return path


FEATURES = list("abcdef")
COLLECTIONS: dict[str, Any] = {
    "read_parquet": lambda folder: (df := dd.read_parquet(folder), df[FEATURES], df["cluster"])[1:],
    "cast": lambda folder: (df := dd.read_parquet(folder), df[FEATURES], df["cluster"].astype(int))[1:],
    "arrays": lambda folder: (df := dd.read_parquet(folder), df[FEATURES].values, df["cluster"].values)[1:],
    "frame and array": lambda folder: (df := dd.read_parquet(folder), df[FEATURES], df["cluster"].values)[1:],
    "frame and memory": lambda folder: (dd.read_parquet(folder)[FEATURES], LABELS),
    "persisted": lambda folder: (df := dd.read_parquet(folder).persist(), df[FEATURES], df["cluster"])[1:],
    "assigned": lambda folder: (
        df := dd.read_parquet(folder).drop(columns="a"), df.assign(a=df["b"])[["a", *FEATURES[1:]]], df["cluster"]
    )[1:],
    "filtered": lambda folder: (
        df := dd.read_parquet(folder), df := df[df["cluster"] >= 0], df[FEATURES], df["cluster"]
    )[2:],
    "from_map": lambda folder: (
        df := dd.from_map(pd.read_parquet, sorted(folder.iterdir())), df[FEATURES], df["cluster"]
    )[1:],
    "other partitions": lambda folder: (
        dd.read_parquet(folder)[FEATURES], dd.from_pandas(pd.Series(LABELS), npartitions=3)
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", COLLECTIONS)
def test_collections_as_people_make_them(kind, folder):
    """Once: "labels has 3 partitions but X has 8" for a labels column of dd.read_parquet."""
    rows, labels = COLLECTIONS[kind](folder)
    data = X.copy()
    if kind == "assigned":
        data[:, 0] = data[:, 1]
    expected = AffinityScorer(random_state=0).fit_affinity(data, LABELS)
    lazy = AffinityScorer(random_state=0).fit_affinity(rows, labels)
    result = lazy.compute()
    np.testing.assert_array_equal(result.label, LABELS)
    np.testing.assert_array_equal(result.affinity, expected.affinity)
    assert lazy.frame().compute().shape[0] == 600


@pytest.mark.parametrize("kind", ["array", "frame", "model"])
def test_a_summary_of_partitions_is_that_of_all_points(kind, folder):
    frame, scorer = pd.DataFrame(X, columns=FEATURES), AffinityScorer(CLUSTERER, calibration=5, random_state=0)
    lazy: Any = dd.read_parquet(folder)[FEATURES]
    if kind == "model":
        plan = propose(frame)
        scorer = Model(plan, scorer.fit(plan.matrix(frame)))
    else:
        frame, lazy = (frame, lazy) if kind == "frame" else (X, in_dask(X))
        scorer.fit(frame)
    expected, merged = scorer.affinity(frame).summary(), scorer.affinity(lazy).summary()
    np.testing.assert_array_equal(merged.counts, expected.counts)
    assert merged.replication == expected.replication
    assert merged.review == expected.review
    assert repr(merged).splitlines()[:12] == repr(expected).splitlines()[:12]
    whole = scorer.profile(frame)
    np.testing.assert_array_equal(merged.profile.counts, whole.counts)
    assert not compare_profiles(scorer, whole, merged.profile).drifted
    # 600 points are fewer than a profile samples, so the drivers are those of all points.
    by_hand = drivers(scorer.affinity(frame), frame, plan=scorer.plan if kind == "model" else None)
    merged_drivers = merged.drivers(scorer.plan if kind == "model" else None)
    assert list(merged_drivers.shares) == list(by_hand.shares) if kind != "array" else merged_drivers.shares
    np.testing.assert_allclose(list(merged_drivers.shares.values()), list(by_hand.shares.values()))


def test_an_estimator_is_fitted_to_a_sample(folder):
    frames = pd.DataFrame(X, columns=FEATURES), dd.read_parquet(folder)[FEATURES]
    expected, lazy = (trust(frame, clusterer=CLUSTERER, n_resamples=3) for frame in frames)
    np.testing.assert_array_equal(lazy.trust.compute(), expected.trust)
    assert lazy.summary().replication == expected.replication


def test_imprecise_points_are_said_once_computed():
    scorer = AffinityScorer(**GIVEN, eps=0.01, engine=Auto(max_samples=3000)).fit(X)
    with pytest.warns(PrecisionWarning, match="of 600 points"):
        scorer.affinity(in_dask(X)).compute()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: affinity(in_dask(X), LABELS[:-1]), "labels has 599 entries but X has 600 rows"),
        (lambda: affinity(in_dask(X)), "labels are missing"),
        (lambda: affinity(in_dask(X[:, 0]), LABELS), "two dimensions"),
        (lambda: affinity(in_dask(X), LABELS, influence="rbf"), "influence=Kernel needs all rows in memory"),
        (lambda: AffinityScorer(centers=CENTERS).fit(in_dask(X), sample_weight=1), "sample_weight"),
        (lambda: AffinityScorer(centers=CENTERS).fit(X).affinity(in_dask(X[:, :3])), "3 features, but"),
        (lambda: affinity(in_dask(X), in_dask(LABELS.astype(float) + 0.5)), "discrete"),
    ],
)  # fmt: skip
def test_bad_input(make, says):
    with pytest.raises((ValueError, TypeError), match=says):
        make()


@pytest.mark.parametrize("again", [copy.copy, lambda lazy: pickle.loads(pickle.dumps(lazy))], ids=["copy", "pickle"])
def test_a_lazy_result_can_be_copied_and_pickled(again):
    """Once: RecursionError."""
    lazy = affinity(in_dask(X), **GIVEN)
    np.testing.assert_array_equal(again(lazy).affinity.compute(), lazy.affinity.compute())
    with pytest.raises(AttributeError, match=r"no 'review': call summary\(\)"):
        _ = lazy.review


# A real cluster of worker processes, one of which dies.

RNG = np.random.default_rng(3)
SITES = RNG.normal(size=(7, 6)) * 3
POINTS = SITES[RNG.integers(7, size=4000)] + RNG.normal(size=(4000, 6)) * 2
NEAREST = ((POINTS[:, None] - SITES) ** 2).sum(axis=2).argmin(axis=1)


@pytest.fixture
def client() -> Iterator[Client]:
    """Two worker processes, with patience: processes start slowly on a busy machine."""
    patience = {"distributed.comm.timeouts.connect": "120s", "distributed.comm.timeouts.tcp": "120s"}
    settings: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        dask.config.set(patience),
        LocalCluster(n_workers=2, silence_logs=50, **settings) as cluster,
        Client(cluster) as client,
    ):
        yield client


def slowly(block: np.ndarray) -> np.ndarray:
    """Leave time to kill a worker."""
    time.sleep(0.15)
    return block


@pytest.mark.slow
def test_a_cluster_gives_what_numpy_gives_though_a_worker_is_killed_in_mid_run(client):
    labels = da.from_array(NEAREST, chunks=500)
    fitted = AffinityScorer(influence="within").fit(da.from_array(POINTS, chunks=(500, 6)), labels)
    in_memory = AffinityScorer(influence="within").fit(POINTS, NEAREST)
    np.testing.assert_allclose(fitted.cluster_centers_, in_memory.cluster_centers_, rtol=1e-12)
    pids: dict[str, Any] = client.run(os.getpid)
    assert len(set(pids.values())) == 2
    lazy = da.from_array(POINTS, chunks=(100, 6)).map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    scorer = AffinityScorer(centers=SITES, random_state=0).fit(POINTS)
    running = scorer.affinity(lazy).affinity.persist()
    time.sleep(1.5)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    np.testing.assert_array_equal(running.compute(), scorer.transform(POINTS))
    assert set(client.run(os.getpid).values()) != set(pids.values()), "a worker did die"


@pytest.mark.slow
def test_a_table_is_scored_by_address_though_a_worker_dies(client, tmp_path):
    np.save(tmp_path / "x.npy", POINTS)
    scorer = AffinityScorer(centers=SITES, random_state=0).fit(POINTS)
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    score_stream(tmp_path / "x.npy", scorer, here, batch_rows=100)
    pid = next(iter(client.run(os.getpid).values()))
    killed = []

    def kill_once(progress: Any) -> None:
        if not killed:
            os.kill(pid, signal.SIGKILL)
            killed.append(progress.rows)

    with connect(client.scheduler.address) as executor:
        settings: dict[str, Any] = {"batch_rows": 100, "executor": executor, "verbose": kill_once}
        score_stream(tmp_path / "x.npy", scorer, there, **settings)
    assert killed == [100]
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.slow
def test_no_scheduler_at_the_address():
    with pytest.raises(ConnectionError, match="no Dask scheduler"), connect("tcp://127.0.0.1:9", timeout=0.5):
        pass
