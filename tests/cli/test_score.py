"""``allegiance score``: the scores of the library, from and to files."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.cluster import KMeans

from allegiance import __version__, affinity
from allegiance.io.tables import open_source
from cli.command import call


def affinities(path, names):
    table = open_source(path).read()
    return np.column_stack([table[f"affinity_{name}"] for name in names])


def test_labels_give_what_the_library_gives(flowers, points, tmp_path):
    X, groups = points
    out = tmp_path / "scores.csv"
    call("score", flowers, "--labels", "species", "--id", "name", "-o", out)
    table = open_source(out, text=["name"]).read()
    expected = affinity(X, np.array(list("abc"))[groups], random_state=0)
    np.testing.assert_allclose(affinities(out, "abc"), expected.affinity, atol=1e-12)
    assert table["name"].to_pylist() == [f"{i:03d}" for i in range(60)]
    assert table["owner"].to_pylist() == expected.owner.tolist()
    assert table["stable"].to_pylist() == expected.stable.tolist()


def test_labels_that_are_kept_as_identifiers_stay_numbers(points, tmp_path):
    X, groups = points
    group = np.where(np.arange(60) % 10 == 0, -1, groups)
    lines = [f"{x!r},{y!r},{g}" for (x, y), g in zip(X.tolist(), group, strict=True)]
    (tmp_path / "noisy.csv").write_text("\n".join(["x,y,group", *lines]))
    called = call("score", tmp_path / "noisy.csv", "--labels", "group", "--id", "group", "--json")
    assert [line["cluster"] for line in json.loads(called.stdout)["clusters"]] == [0, 1, 2, "noise"]


def test_centers_and_clusters_give_what_the_library_gives(flowers, points, tmp_path):
    X, _ = points
    (tmp_path / "centers.csv").write_text("height,width\n0,0\n0,6\n5,3\n")
    common = [flowers, "--id", "name", "--drop", "species"]
    call("score", *common, "--centers", tmp_path / "centers.csv", "-o", tmp_path / "a.csv")
    expected = affinity(X, centers=[[0, 0], [6, 0], [3, 5]], random_state=0).affinity
    np.testing.assert_allclose(affinities(tmp_path / "a.csv", range(3)), expected, atol=1e-12)
    call("score", *common, "--clusters", 4, "--seed", 3, "-o", tmp_path / "b.csv")
    labels = KMeans(4, n_init=10, random_state=3).fit(X).labels_
    expected = affinity(X, labels, random_state=3).affinity
    np.testing.assert_allclose(affinities(tmp_path / "b.csv", range(4)), expected, atol=1e-12)


def test_centers_without_names_are_taken_in_order(points, tmp_path):
    X, _ = points
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "centers.npy", [[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])
    np.save(tmp_path / "wrong.npy", np.ones((2, 3)))
    call("score", tmp_path / "points.npy", "--centers", tmp_path / "centers.npy", "-o", tmp_path / "a.parquet")
    expected = affinity(X, centers=[[0, 0], [6, 0], [3, 5]], random_state=0)
    np.testing.assert_array_equal(affinities(tmp_path / "a.parquet", range(3)), expected.affinity)
    wrong = call("score", tmp_path / "points.npy", "--centers", tmp_path / "wrong.npy", code=1)
    assert "3 columns, but the data has 2 features" in wrong.stderr


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather", "jsonl", "json"])
def test_output_by_its_ending(flowers, tmp_path, ending):
    out = tmp_path / f"scores.{ending}"
    call("score", flowers, "--labels", "species", "--id", "name", "-o", out)
    if ending == "json":
        rows = json.loads(out.read_text())
    elif ending == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        rows = open_source(out, text=["name"]).read().to_pylist()
    assert [row["name"] for row in rows] == [f"{i:03d}" for i in range(60)]
    assert all(abs(row["affinity_a"] + row["affinity_b"] + row["affinity_c"] - 1) < 1e-9 for row in rows)


def test_standard_input_and_output(flowers):
    words = ["score", "-", "--labels", "species", "--id", "name", "-o", "-"]
    result = call(*words, stdin=flowers.read_bytes())
    lines = result.stdout.splitlines()
    assert lines[0].startswith("name,label,owner,runner_up,confidence")
    assert len(lines) == 61
    assert "points are stable" in result.stderr
    assert call(*words, "--quiet", stdin=flowers.read_bytes()).stderr == ""


def test_the_summary_names_the_clusters_and_the_points_to_look_at(flowers, points):
    X, groups = points
    result = call("score", flowers, "--labels", "species", "--id", "name")
    expected = affinity(X, groups, random_state=0)
    assert f"{expected.stable.sum()} of 60 points are stable" in result.stdout
    worst = [f"{row:03d}" for row in expected.least_trusted(10)]
    listed = [line.split()[0] for line in result.stdout.splitlines() if line.strip()[:3].isdigit()]
    assert listed[-10:] == worst
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_json_is_one_object_and_nothing_else(flowers, tmp_path):
    out = tmp_path / "scores.csv"
    words = ["score", flowers, "--labels", "species", "--id", "name", "-o", out, "--json", "--review", 3]
    found = json.loads(call(*words).stdout)
    assert found["version"] == __version__
    assert found["command"].startswith("allegiance score ")
    assert found["parameters"]["labels"] == "species"
    assert found["points"] == 60
    assert [cluster["cluster"] for cluster in found["clusters"]] == ["a", "b", "c"]
    assert sum(cluster["points"] for cluster in found["clusters"]) == 60
    assert len(found["review"]) == 3
    assert set(found["review"][0]) == {"name", "label", "owner", "runner_up", "confidence", "margin"}
    assert found["output"] == str(out)
    assert "--json and -o -" in call("score", flowers, "--labels", "species", "-o", "-", "--json", code=2).stderr


def test_output_carries_its_provenance(flowers, tmp_path):
    out = tmp_path / "scores.parquet"
    call("score", flowers, "--labels", "species", "--id", "name", "--eps", 0.05, "-o", out)
    kept = json.loads(pa.parquet.read_schema(out).metadata[b"allegiance"])
    assert kept["version"] == __version__
    assert kept["command"].startswith("allegiance score ")
    assert kept["parameters"]["eps"] == 0.05
    assert kept["parameters"]["seed"] == 0


def test_runs_repeat_themselves(tmp_path, rng):
    np.savez(tmp_path / "points.npz", X=rng.normal(size=(80, 6)))
    for name in ["a", "b"]:
        call("score", tmp_path / "points.npz", "--clusters", 8, "--eps", 0.2, "-o", tmp_path / f"{name}.csv")
    call("score", tmp_path / "points.npz", "--clusters", 8, "--eps", 0.2, "--seed", 1, "-o", tmp_path / "c.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "c.csv").read_bytes()


def test_top_keeps_the_largest_affinities(flowers, tmp_path):
    common = ["score", flowers, "--labels", "species", "--id", "name"]
    call(*common, "--top", 2, "-o", tmp_path / "top.csv")
    call(*common, "-o", tmp_path / "all.csv")
    top = open_source(tmp_path / "top.csv").read()
    assert "affinity_a" not in top.column_names
    largest = np.sort(affinities(tmp_path / "all.csv", "abc"), axis=1)[:, ::-1]
    np.testing.assert_allclose(top["affinity_1"], largest[:, 0])
    np.testing.assert_allclose(top["affinity_2"], largest[:, 1])
    assert top["cluster_1"].to_pylist() == top["owner"].to_pylist()


def test_a_threshold_that_is_not_met_has_its_own_exit_code(flowers):
    common = ["score", flowers, "--labels", "species", "--id", "name"]
    call(*common, "--fail-under", 0, code=0)
    # Of two clusters, one always gives more than half.
    call("score", flowers, "--drop", "species", "--id", "name", "--clusters", 2, "--fail-under", 1, code=0)
    many = ["score", flowers, "--drop", "species", "--id", "name", "--clusters", 12]
    failed = call(*many, "--fail-under", 1, code=3)
    assert "below --fail-under 1" in failed.stderr


def test_missing_values_and_categories_reach_the_scores(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,kind\n1,2,u\n,3,v\n8,9,u\n9,8,v\n1,1,u\n9,9,u\n")
    counted = call("score", path, "--clusters", 2, "--one-hot", "kind", code=1)
    assert "1 value missing: a (1)" in counted.stderr
    assert "--impute" in counted.stderr
    dropped = call(
        "score", path, "--clusters", 2, "--one-hot", "kind", "--impute", "drop", "-o", tmp_path / "dropped.csv"
    )
    assert "1 of 6 rows have missing values and are left out" in dropped.stderr
    assert open_source(tmp_path / "dropped.csv").read()["row"].to_pylist() == [0, 2, 3, 4, 5]
    filled = call("score", path, "--clusters", 2, "--categorical", "drop", "--impute", "median", "--quiet")
    assert (filled.stdout, filled.stderr) == ("", "")
    assert "'kind' (string)" in call("score", path, "--clusters", 2, code=1).stderr


def test_columns_by_name_list_and_pattern(flowers, tmp_path):
    outputs = []
    for features in ["width,height", "*t*", "height"]:
        out = tmp_path / "scores.csv"
        call("score", flowers, "--labels", "species", "--features", features, "-o", out, "--force")
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]


def test_standardizing_undoes_a_change_of_unit(points, tmp_path):
    X, groups = points
    for name, data in [("plain", X), ("scaled", X * [1_000.0, 1.0])]:
        np.savez(tmp_path / f"{name}.npz", X=data, groups=groups)
        common = ["score", tmp_path / f"{name}.npz", "--labels", "groups", "--standardize"]
        call(*common, "-o", tmp_path / f"{name}.csv")
    plain, scaled = (affinities(tmp_path / f"{name}.csv", range(3)) for name in ["plain", "scaled"])
    np.testing.assert_allclose(plain, scaled, atol=1e-9)


def test_settings_reach_the_scorer(flowers, points, tmp_path):
    X, groups = points
    out = tmp_path / "scores.csv"
    cases = {
        "--weights size --weight-scale auto": {"weights": "size", "weight_scale": "auto"},
        "--domain none": {"domain": None},
        "--divergence within --domain ball": {"divergence": "within", "domain": "ball"},
        "--kernel rbf --kernel-param gamma=0.5": {"kernel": "rbf", "kernel_params": {"gamma": 0.5}},
        "--leave-one-out --margin 0.5": {"leave_one_out": True, "margin": 0.5},
        "--representative medoid": {"representative": "medoid"},
    }
    for words, settings in cases.items():
        call("score", flowers, "--labels", "species", "--id", "name", "-o", out, "--force", *words.split())
        expected = affinity(X, groups, random_state=0, **settings).affinity
        np.testing.assert_allclose(affinities(out, "abc"), expected, atol=1e-9, err_msg=words)


@pytest.mark.parametrize(
    "algorithm", ["kmeans", "minibatch", "bisecting", "agglomerative", "gmm", "birch", "spectral", "hdbscan"]
)
def test_every_algorithm_runs(flowers, algorithm):
    words = [] if algorithm == "hdbscan" else ["--clusters", 3]
    common = ["score", flowers, "--id", "name", "--drop", "species", "--json"]
    found = json.loads(call(*common, "--algorithm", algorithm, *words).stdout)
    assert sum(cluster["points"] for cluster in found["clusters"]) == 60


def test_an_identifier_must_not_be_called_like_a_score(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("owner,a,group\nx,1,0\ny,2,0\nz,9,1\n")
    result = call("score", path, "--labels", "group", "--id", "owner", "-o", tmp_path / "o.csv", code=1)
    assert "--id owner has the name of a column of the result" in result.stderr


def test_missing_labels_are_named_by_their_row(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,group\n1,x\n2,\n9,y\n")
    assert "column 'group' of the data has no label in row 1" in call("score", path, "--labels", "group", code=1).stderr


def test_an_identifier_among_the_features_is_noticed(flowers):
    result = call("score", flowers, "--labels", "species")
    assert "column 'name' counts the rows and is used as a feature; --id name would keep it apart" in result.stderr


def test_noise_stays_noise(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,group\n1,0\n2,0\n5,-1\n8,1\n9,1\n")
    found = json.loads(call("score", path, "--labels", "group", "--json").stdout)
    assert [cluster["cluster"] for cluster in found["clusters"]] == [0, 1, "noise"]


def test_the_report_shows_the_identifiers(flowers, tmp_path):
    page = tmp_path / "page.html"
    call("score", flowers, "--labels", "species", "--id", "name", "--report", page, "--clusters", 3, code=2)
    call("score", flowers, "--labels", "species", "--id", "name", "--report", page)
    assert "<!doctype html>" in page.read_text()[:200].lower()
    assert "exists already" in call("report", flowers, "--labels", "species", "--id", "name", "-o", page, code=1).stderr
