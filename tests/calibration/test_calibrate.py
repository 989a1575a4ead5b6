import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance.calibration import Calibration, MemberDistances, calibrate
from calibration.scenes import blobs, evidence, scores


def trust_of(known, mapping):
    return mapping.trust(known.own_affinity, known.closeness, known.codes, known.distance)


def same(first, second):
    arrays = ("center", "scale", "coefficients", "covariance", "offsets", "reach")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in arrays)


def test_separate_clusters_are_trusted_and_shuffled_labels_are_not(rng):
    points, codes = blobs(rng, apart=20.0)
    known, _ = evidence(points, codes)
    assert trust_of(known, calibrate(Calibration(), known, 3, 0)).min() > 0.9
    known, _ = evidence(points, rng.permutation(codes))
    assert trust_of(known, calibrate(Calibration(), known, 3, 0)).mean() < 0.45


def test_points_between_clusters_are_trusted_less(rng):
    points, codes = blobs(rng, apart=5.0)
    known, _ = evidence(points, codes)
    trust = trust_of(known, calibrate(Calibration(), known, 3, 0))
    order = np.argsort(known.closeness)
    assert trust[order[:60]].mean() < trust[order[-60:]].mean() - 0.1


def test_result_does_not_depend_on_threads_but_on_the_seed(rng):
    known, _ = evidence(*blobs(rng, apart=4.0))
    first = calibrate(Calibration(), known, 3, 0, threads=1)
    assert same(first, calibrate(Calibration(), known, 3, 0, threads=4))
    assert not same(first, calibrate(Calibration(), known, 3, 1, threads=1))


def test_noise_is_left_out_everywhere(rng):
    points, codes = blobs(rng, apart=4.0)
    known, _ = evidence(points, codes)
    noise = np.insert(known.codes, [10, 300, 600], -1)
    both = known._replace(
        codes=noise,
        **{
            name: np.insert(getattr(known, name), [10, 300, 600], 1e6, axis=0)
            for name in known._fields
            if name != "codes"
        },
    )
    mapping = calibrate(Calibration(), both, 3, 0)
    members = MemberDistances.of(noise, both.distance, 3, seed=0)
    without = calibrate(Calibration(), known, 3, 0, members=members)
    assert same(mapping, without)
    assert np.array_equal(np.isnan(trust_of(both, mapping)), noise < 0)
    assert np.array_equal(np.isnan(members.typicality(noise, both.distance)), noise < 0)


def test_one_cluster_is_trusted_for_certain(rng):
    known, _ = evidence(rng.normal(size=(50, 2)), np.zeros(50, dtype=int))
    mapping = calibrate(Calibration(), known, 1, 0)
    assert (trust_of(known, mapping) == 1.0).all()
    assert mapping.expected_right(*known[2:4], known.codes, known.distance) == (1.0, 1.0, 1.0)
    assert mapping.chance == 1.0


@pytest.mark.parametrize("n_per_cluster", [1, 2, 3])
@pytest.mark.parametrize("k", [2, 10])
def test_tiny_clusters(rng, n_per_cluster, k):
    known, _ = evidence(*blobs(rng, n=n_per_cluster * k, k=k, apart=10.0))
    trust = trust_of(known, calibrate(Calibration(), known, k, 0))
    assert ((trust >= 0) & (trust <= 1)).all()


def test_clusters_that_do_not_occur_and_duplicate_rows(rng):
    points = np.repeat([[0.0, 0.0], [5.0, 0.0], [9.0, 0.0]], 20, axis=0)
    known, _ = evidence(points, np.repeat([0, 2, 5], 20), k=7)
    mapping = calibrate(Calibration(), known, 7, 0)
    trust = trust_of(known, mapping)
    assert ((trust > 0.8) & (trust <= 1)).all()
    absent = mapping.trust(np.ones(1), np.ones(1), np.array([3]), np.zeros(1))
    assert 0 <= absent[0] <= 1
    assert MemberDistances.of(known.codes, known.distance, 7, seed=0).typicality(np.array([3]), np.zeros(1)) == [1.0]


@pytest.mark.parametrize("d", [2, 10, 50])
@pytest.mark.parametrize("k", [2, 5])
def test_points_ten_spreads_away_are_never_trusted(rng, d, k):
    points, codes = blobs(rng, n=1000, k=k, d=d, apart=12.0)
    known, centers = evidence(points, codes)
    mapping = calibrate(Calibration(), known, k, 0)
    spread = np.sqrt((known.distance**2).mean())
    direction = rng.normal(size=(200, d))
    away = centers[rng.integers(0, k, 200)] + 10 * spread * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    nearest = np.linalg.norm(away[:, None] - centers, axis=2).argmin(axis=1)
    far = np.linalg.norm(away[:, None] - centers, axis=2).min(axis=1) > 9.9 * spread
    own, close, distance = scores(away, nearest, centers)
    assert far.any()
    assert mapping.trust(own, close, nearest, distance)[far].max() < 0.5
    members = MemberDistances.of(known.codes, known.distance, k, seed=0)
    assert members.typicality(nearest, distance)[far].max() < 0.01


def test_the_reach_of_all_members_counts_not_only_that_of_the_sample(rng):
    points, codes = blobs(rng, n=3000, apart=5.0)
    whole, _ = evidence(points, codes)
    sample = whole.take(np.arange(200))
    members = MemberDistances.of(codes, whole.distance, 3, seed=0)
    mapping = calibrate(Calibration(crowding=0.0), sample, 3, 0, members=members)
    plain = np.exp(-np.logaddexp(0, -_logits(mapping, whole)))
    np.testing.assert_allclose(trust_of(whole, mapping), plain, rtol=1e-12)


def _logits(mapping, known):
    total = (known.own_affinity + known.closeness - mapping.center[0]) / mapping.scale[0]
    difference = (known.own_affinity - known.closeness - mapping.center[1]) / mapping.scale[1]
    return mapping.coefficients @ [np.ones(total.size), total, difference]


@pytest.mark.parametrize(
    "clusterer",
    [
        KMeans(3, n_init=1),
        GaussianMixture(3),
        AgglomerativeClustering(3),
        DBSCAN(eps=1.0),
        make_pipeline(StandardScaler(), KMeans(3, n_init=1)),
        make_pipeline(StandardScaler(), AgglomerativeClustering(3)),
    ],
    ids=lambda clusterer: type(clusterer).__name__,
)
def test_own_clusterer(rng, clusterer):
    points, codes = blobs(rng, apart=20.0)
    known, _ = evidence(points, codes)
    calibration = Calibration(clusterer=clusterer, n_resamples=5)
    mapping = calibrate(calibration, known, 3, 0, rows=points)
    assert trust_of(known, mapping).mean() > 0.9
    assert same(mapping, calibrate(calibration, known, 3, 0, rows=points, threads=2))


def test_own_clusterer_on_sparse_rows(rng):
    points, codes = blobs(rng, n=120, apart=20.0)
    known, _ = evidence(points, codes)
    calibration = Calibration(clusterer=KMeans(3, n_init=1), n_resamples=3)
    mapping = calibrate(calibration, known, 3, 0, rows=sp.csr_matrix(points))
    assert trust_of(known, mapping).mean() > 0.9


def test_errors_name_the_argument(rng):
    points, codes = blobs(rng, n=30)
    known, _ = evidence(points, codes)
    with pytest.raises(ValueError, match="rows is missing"):
        calibrate(Calibration(clusterer=KMeans(3)), known, 3, 0)
    with pytest.raises(ValueError, match=r"clusterer=KMeans.*half of 15 rows"):
        calibrate(Calibration(clusterer=KMeans(20)), known, 3, 0, rows=points)
    with pytest.raises(ValueError, match=r"clusterer=DBSCAN.*found no cluster"):
        calibrate(Calibration(clusterer=DBSCAN(eps=1e-9)), known, 3, 0, rows=points)
    with pytest.raises(ValueError, match="every point is noise"):
        calibrate(Calibration(), known._replace(codes=np.full(30, -1)), 3, 0)
    with pytest.raises(ValueError, match="there are 2 clusters"):
        calibrate(Calibration(), known, 2, 0)
    with pytest.raises(ValueError, match=r"evidence\.closeness has 29 rows"):
        calibrate(Calibration(), known._replace(closeness=known.closeness[1:]), 3, 0)


def test_progress_of_the_halves_is_told_to_a_function():
    from allegiance import trust

    seen = []
    X = np.random.default_rng(0).normal(size=(40, 2))
    trust(X, (X[:, 0] > 0).astype(int), n_resamples=3, n_jobs=1, verbose=seen.append)
    halves = [look for look in seen if look.unit == "halves"]
    assert [(look.rows, look.total) for look in halves] == [(1, 3), (2, 3), (3, 3)]
    assert {look.unit for look in seen} == {"points", "halves"}
