"""Saved scorers: the same scores to the last bit, now and from files of every earlier version, or a clear refusal."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import pickle
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from allegiance import (
    KL,
    AffinityScorer,
    Ball,
    Box,
    Bregman,
    Calibration,
    Fourier,
    Hashing,
    HitAndRun,
    ItakuraSaito,
    Kernel,
    Mahalanobis,
    Nystroem,
    Polytope,
    Weights,
    Within,
)
from allegiance.io.state import VERSION, fingerprint, read_state

IRIS = load_iris().data
LABELS = KMeans(3, n_init=1, random_state=0).fit_predict(IRIS)
FIXTURES = sorted((Path(__file__).parent / "data" / "state").glob("*.scorer"))

SETTINGS: dict[str, dict[str, Any]] = {
    "euclidean": {},
    "weights": {"weights": Weights("size", scale="auto")},
    "given weights": {"weights": Weights([0.1, 0.2, 0.3], query=0.05)},
    "weights as an array": {"weights": np.array([0.1, 0.2, 0.3])},
    "within": {"influence": "within"},
    "within, oas": {"influence": Within("oas")},
    "mahalanobis": {"influence": Mahalanobis(np.cov(IRIS.T))},
    "kl": {"influence": "kl"},
    "kl in a ball": {"influence": KL(), "domain": "ball"},
    "smoothed": {"influence": ItakuraSaito(smoothing=0.5)},
    "rbf": {"influence": "rbf"},
    "polynomial": {"influence": Kernel("polynomial", degree=2, gamma=np.float32(0.1))},
    "cosine": {"influence": "cosine"},
    "cosine kernel": {"influence": Kernel("cosine")},
    "fourier": {"influence": Kernel("rbf", approximation=Fourier(20))},
    "nystroem": {"influence": Kernel("laplacian", approximation=Nystroem(20))},
    "hash": {"influence": Kernel("polynomial", approximation=Hashing(20))},
    "ball": {"domain": Ball()},
    "margin": {"domain": Box(margin=0.5)},
    "whole space": {"domain": "space"},
    "own region": {"domain": Polytope.box([0.0] * 4, [9.0] * 4)},
    "own region, as lists": {
        "domain": Polytope([[1, 0, 0, 0], *(-np.eye(4)).tolist(), [1, 1, 1, 1]], [9, 0, 0, 0, 0, 30])
    },
    "shared": {"engine": "shared"},
    "walk": {"engine": HitAndRun(max_samples=200_000)},
    "given centers": {"centers": IRIS[:3].tolist()},
    "median": {"representative": "median"},
    "calibrated": {"influence": "within", "calibration": 3},
    "calibrated by a clusterer": {"calibration": Calibration(3, clusterer=AgglomerativeClustering(3), crowding=0.0)},
}


def fitted(**settings: Any) -> AffinityScorer:
    # Without a seed: the one that was drawn must be part of the state.
    return AffinityScorer(**{"random_state": None} | settings).fit(IRIS, LABELS)


def assert_scores_alike(one: AffinityScorer, other: AffinityScorer, X: Any = IRIS) -> None:
    first, second = one.affinity(X), other.affinity(X)
    names = [
        "affinity",
        "standard_error",
        "label",
        "classes",
        "empty_cell",
        "residual",
        "engine",
        "closeness",
        "typicality",
    ]
    assert first.calibrated == second.calibrated
    names += ["trust", "replication", "replication_interval", "clusterer_note"] if first.calibrated else []
    for name in names:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_loaded_scorer_gives_the_same_bits(name, tmp_path):
    scorer = fitted(**SETTINGS[name])
    scorer.save(tmp_path / "a.scorer")
    loaded = AffinityScorer.load(tmp_path / "a.scorer")
    assert_scores_alike(scorer, loaded)
    loaded.save(tmp_path / "b.scorer")
    assert (tmp_path / "a.scorer").read_bytes() == (tmp_path / "b.scorer").read_bytes()


def test_precomputed_kernel_values(tmp_path):
    gram = IRIS @ IRIS.T
    scorer = AffinityScorer(influence="precomputed").fit(gram, LABELS)
    scorer.save(tmp_path / "a.scorer")
    assert_scores_alike(scorer, AffinityScorer.load(tmp_path / "a.scorer"), gram)


def test_sparse_rows_of_a_kernel(tmp_path):
    X = sp.csr_array(np.where(IRIS > 2, IRIS, 0.0))
    scorer = AffinityScorer(influence="linear").fit(X, LABELS)
    scorer.save(tmp_path / "a.scorer")
    assert_scores_alike(scorer, AffinityScorer.load(tmp_path / "a.scorer"), X)


@pytest.mark.parametrize(
    "labels", [np.array(["a", "b", "c"])[LABELS], LABELS * 7, LABELS == 1, LABELS.astype(float) + 2]
)
def test_labels_of_any_kind_come_back(labels, tmp_path):
    scorer = AffinityScorer(random_state=0).fit(IRIS, labels)
    scorer.save(tmp_path / "a.scorer")
    loaded = AffinityScorer.load(tmp_path / "a.scorer")
    assert loaded.classes_.dtype == scorer.classes_.dtype
    assert_scores_alike(scorer, loaded)


def test_a_loaded_scorer_is_an_ordinary_one(tmp_path):
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0), random_state=0).fit(frame)
    scorer.save(tmp_path / "a.scorer")
    loaded = AffinityScorer.load(tmp_path / "a.scorer")
    assert list(loaded.feature_names_in_) == list("abcd")
    assert loaded.get_feature_names_out().size == 3
    np.testing.assert_array_equal(loaded.cluster_centers_, scorer.cluster_centers_)
    np.testing.assert_array_equal(loaded.predict(frame), scorer.predict(frame))
    assert not hasattr(loaded, "labels_")
    assert loaded.estimator is None
    assert_scores_alike(loaded, pickle.loads(pickle.dumps(loaded)), frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.affinity(frame.rename(columns={"a": "z"}))
    assert_scores_alike(clone(loaded).fit(frame, scorer.labels_), scorer, frame)


def test_state_is_plain_and_holds_no_training_data():
    state = fitted().to_dict()
    members = state.pop("members")

    def walk(value: Any) -> int:
        if isinstance(value, dict):
            return sum(walk(item) for item in value.values())
        assert value is None or type(value) in (bool, int, float, str, np.ndarray)
        return value.size if isinstance(value, np.ndarray) else 1

    assert walk(state) < IRIS.size / 4
    assert walk(members) < 3 * len(IRIS), "a distance and a hash of each member, and nothing else of it"
    state["members"] = members
    assert_scores_alike(AffinityScorer.from_dict(state), AffinityScorer.from_dict(state))


def test_states_that_differ_have_other_fingerprints():
    one, other = fitted(random_state=0), fitted(random_state=1)
    assert fingerprint(one.to_dict()) == fingerprint(fitted(random_state=0).to_dict())
    assert fingerprint(one.to_dict()) != fingerprint(other.to_dict())


def one_of_their_own(A: Any, B: Any) -> Any:
    return A @ B.T


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"influence": Kernel(one_of_their_own)}, "influence.name is <function one_of_their_own"),
        ({"influence": Bregman(lambda Y: (Y**4).sum(axis=1), lambda Y: 4 * Y**3, name="quartic")},
         "influence.phi is <function"),
    ],
)  # fmt: skip
def test_code_of_the_user_cannot_be_saved(settings, names, tmp_path):
    scorer = fitted(random_state=0, **settings)
    with pytest.raises(TypeError, match=names):
        scorer.save(tmp_path / "a.scorer")
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_scorer_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        AffinityScorer().save(tmp_path / "a.scorer")


def test_saving_replaces_only_with_a_complete_file(tmp_path, monkeypatch):
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)
    before = path.read_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        fitted(random_state=1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def rewritten(path: Path, change: Any) -> None:
    """Change the members of a saved scorer, and nothing else of the archive."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def with_checksums(files: dict[str, bytes]) -> None:
    """Make the checksums fit again, as a writer of such files would."""
    del files["SHA256SUMS"]
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
    files["SHA256SUMS"] = "".join(lines).encode()


def change_state(files: dict[str, bytes], **changes: Any) -> None:
    state = json.loads(files["state.json"]) | changes
    files["state.json"] = json.dumps({name: value for name, value in state.items() if value != "gone"}).encode()
    with_checksums(files)


def flip_a_bit(files: dict[str, bytes]) -> None:
    content = bytearray(files["region.center.npy"])
    content[-1] ^= 1
    files["region.center.npy"] = bytes(content)


def pickled_array(files: dict[str, bytes]) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    files["region.center.npy"] = buffer.getvalue()
    with_checksums(files)


def change_parameters(files: dict[str, bytes], **changes: Any) -> None:
    change_state(files, params=json.loads(files["state.json"])["params"] | changes)


def unknown_kind(files: dict[str, bytes]) -> None:
    change_state(files, region={"kind": "torus"})


DAMAGE: dict[str, tuple[Any, str]] = {
    "a bit": (flip_a_bit, "region.center.npy was altered"),
    "shorter array": (
        lambda files: files.update({"centers.npy": files["centers.npy"][:-8]}),
        "centers.npy was altered",
    ),
    "no array": (lambda files: files.pop("centers.npy"), "centers.npy.*missing"),
    "no checksums": (lambda files: files.pop("SHA256SUMS"), "SHA256SUMS.*missing"),
    "no state": (lambda files: files.pop("state.json"), "state.json.*missing"),
    "no JSON": (lambda files: files.update({"state.json": b"{"}), "cannot be loaded"),
    "other state": (lambda files: files.update({"state.json": files["state.json"] + b" "}), "state.json was altered"),
    "later version": (lambda files: change_state(files, version=VERSION + 1), "version 3 .* update allegiance"),
    "no version": (lambda files: change_state(files, version="gone"), "version None"),
    "other format": (lambda files: change_state(files, format="recipe"), "not the state of a scorer"),
    "pickled array": (pickled_array, "cannot be loaded.*allow_pickle"),
    "unknown kind": (unknown_kind, "torus"),
    "unknown parameters": (
        lambda files: change_parameters(files, influence={"kind": "parameters", "class": "Psychic", "params": {}}),
        "Psychic",
    ),
    "missing part": (lambda files: change_state(files, diagram="gone"), "diagram is missing"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_are_refused(name, tmp_path):
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)
    change, says = DAMAGE[name]
    rewritten(path, change)
    with pytest.raises(ValueError, match=says):
        AffinityScorer.load(path)


def repacked(path: Path, **changes: Any) -> None:
    """Write the members of a saved scorer again, with other settings of the archive."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", **changes) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def test_compressed_files_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)
    repacked(path, compression=zipfile.ZIP_DEFLATED)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("a member was read"))
    with pytest.raises(ValueError, match="is compressed, which saved scorers never are"):
        AffinityScorer.load(path)


def test_sizes_are_compared_before_reading(tmp_path, monkeypatch):
    """Members that overlap, so that each has the size of the file, would need as many times its memory."""
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)
    listed = zipfile.ZipFile.infolist

    def overlapping(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        found = listed(archive)
        for member in found[1:]:
            member.file_size = member.compress_size = path.stat().st_size
        return found

    monkeypatch.setattr(zipfile.ZipFile, "infolist", overlapping)
    with pytest.raises(ValueError, match="is said to be longer than the file"):
        AffinityScorer.load(path)


def encrypted(content: bytes) -> bytes:
    """Set the bit that says so in every entry of the central directory."""
    changed = bytearray(content)
    position = -1
    while (position := content.find(b"PK\x01\x02", position + 1)) >= 0:
        changed[position + 8] |= 1
    return bytes(changed)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (encrypted, "is encrypted"),
        (lambda content: content[100:], "damaged"),
        (lambda content: content[:200] + content[150:], "damaged"),
    ],
    ids=["encrypted", "beheaded", "spliced"],
)
def test_archives_that_are_none_are_refused(change, says, tmp_path):
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=says):
        AffinityScorer.load(path)


def test_random_splices_are_refused_or_do_no_harm(tmp_path):
    """500 files with a piece cut out, doubled or exchanged: 355 raised OSError once."""
    whole, path = tmp_path / "a.scorer", tmp_path / "b.scorer"
    scorer = fitted(random_state=0)
    scorer.save(whole)
    content = whole.read_bytes()
    rng = np.random.default_rng(0)
    loaded = 0
    for _ in range(500):
        start, stop = np.sort(rng.integers(0, len(content), 2)).tolist()
        to = int(rng.integers(len(content)))
        path.write_bytes(content[:to] + content[start:stop] + content[to + int(rng.integers(0, 200)) :])
        with contextlib.suppress(ValueError):
            state = read_state(path)
            loaded += 1
            assert fingerprint(state) == fingerprint(scorer.to_dict())
    assert loaded < 50


def npy(header: bytes, data: bytes = b"\0" * 64) -> bytes:
    padded = header + b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + data


HEADERS: dict[str, tuple[bytes, str]] = {
    "huge": (
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }",
        "64 bytes, not those of float64",
    ),
    "overflowing": (b"{'descr': '<f8', 'fortran_order': False, 'shape': (1" + b"0" * 40 + b",), }", "64 bytes"),
    "negative": (b"{'descr': '<f8', 'fortran_order': False, 'shape': (-8, -1), }", "64 bytes"),
    "short": (b"{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }", "64 bytes"),
    "long texts": (b"{'descr': '<U900000000', 'fortran_order': False, 'shape': (0,), }", "cannot be loaded"),
    "structured": (b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (8,), }", "numbers and texts"),
    "objects": (b"{'descr': '|O', 'fortran_order': False, 'shape': (8,), }", "without pickle"),
    "no dict": (b"[1, 2]", "cannot be loaded"),
    "open": (b"{'descr': '<f8', 'shape': (", "cannot be loaded"),
    "triple quote": (b'{\'descr\': """', "cannot be loaded"),
    "deep": (b"(" * 5000, "cannot be loaded"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_arrays_whose_header_lies_are_refused(name, tmp_path):
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)
    header, says = HEADERS[name]

    def change(files: dict[str, bytes]) -> None:
        files["region.center.npy"] = npy(header)
        with_checksums(files)

    rewritten(path, change)
    with pytest.raises(ValueError, match=says) as caught:
        AffinityScorer.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "state",
    [
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 100_000,
        b"NaN",
        b"\xff\xfe",
        b'{"format": "allegiance scorer", "version": 1, "a": {"array": 7}}',
        b"1" * 9999,
    ],
    ids=["deep objects", "deep lists", "NaN", "no text", "no name", "long number"],
)
def test_json_that_is_no_state_is_refused(state, tmp_path):
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)

    def change(files: dict[str, bytes]) -> None:
        files["state.json"] = state
        with_checksums(files)

    rewritten(path, change)
    with pytest.raises(ValueError, match=r"a\.scorer cannot be loaded"):
        AffinityScorer.load(path)


def test_many_threads_may_save_to_one_path(tmp_path):
    """With a temporary name of the process alone, 35 of 150 rounds left a file that could not be read."""
    scorers = [fitted(random_state=seed) for seed in range(4)]
    path = tmp_path / "a.scorer"
    known = {fingerprint(scorer.to_dict()) for scorer in scorers}

    def save(scorer: AffinityScorer) -> set[str]:
        found = set()
        for _ in range(15):
            scorer.save(path)
            found.add(fingerprint(read_state(path)))
        return found

    with ThreadPoolExecutor(4) as threads:
        assert set().union(*threads.map(save, scorers)) <= known
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_truncated_files_are_refused(share, tmp_path):
    path = tmp_path / "a.scorer"
    fitted(random_state=0).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"a\.scorer is not a saved scorer, or is damaged"):
        AffinityScorer.load(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        AffinityScorer.load(tmp_path / "none.scorer")


def test_what_is_not_a_state_is_refused():
    with pytest.raises(ValueError, match="not the state of a scorer"):
        AffinityScorer.from_dict({"version": 1})


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_files_of_every_version_load_for_ever(path):
    expected = np.load(path.with_suffix(".npz"))
    result = AffinityScorer.load(path).affinity(expected["points"])
    # Walks are others since; 5 joint errors off are the few shares of them with a probability below 0.1 %.
    walked = result.engine == "hit-and-run"
    joint = np.hypot(result.standard_error, expected["error"])
    assert (np.abs(result.affinity - expected["affinity"]) <= 5.0 * joint)[walked].all()
    # Other processors may round otherwise in the last digits.
    np.testing.assert_allclose(result.affinity[~walked], expected["affinity"][~walked], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.standard_error[~walked], expected["error"][~walked], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(result.label, expected["label"])
    version = int(path.stem.rpartition("-v")[2])
    if version == 1:
        assert "typicality" not in result.frame().columns
        with pytest.raises(ValueError, match="files of the first format"):
            _ = result.typicality
    else:
        np.testing.assert_allclose(result.typicality, expected["typicality"])
        assert result.calibrated == ("trust" in expected)
        if result.calibrated:
            np.testing.assert_allclose(result.trust[~walked], expected["trust"][~walked], rtol=1e-6)


def test_files_of_every_version_are_written_anew_in_the_present_one(tmp_path):
    for path in FIXTURES:
        points = np.load(path.with_suffix(".npz"))["points"]
        old = AffinityScorer.load(path)
        old.save(tmp_path / path.name)
        new = AffinityScorer.load(tmp_path / path.name)
        np.testing.assert_array_equal(new.affinity(points).affinity, old.affinity(points).affinity)
        assert repr(new) == repr(old)


def test_there_are_fixtures_of_every_version():
    assert {path.stem.rpartition("-v")[2] for path in FIXTURES} == {str(version + 1) for version in range(VERSION)}
