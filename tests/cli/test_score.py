"""``allegiance score``: the scores of the library, from and to files."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_moons

from allegiance import __version__, trust
from allegiance.domains import Box
from allegiance.engines import SharedSamples
from allegiance.influence import KL, Kernel, Weights
from allegiance.io._old_tables import open_source
from cli.command import INSTALLED, call


def affinities(path, names):
    table = open_source(path).read()
    return np.column_stack([table[f"affinity_{name}"] for name in names])


def test_labels_give_what_the_library_gives(flowers, points, tmp_path):
    X, groups = points
    out = tmp_path / "scores.csv"
    call("score", flowers, "--labels", "species", "--id", "name", "--details", "-o", out)
    table = open_source(out, text=["name"]).read()
    expected = trust(X, np.array(list("abc"))[groups])
    np.testing.assert_allclose(affinities(out, "abc"), expected.affinity, atol=1e-12)
    np.testing.assert_array_equal(table["trust"], expected.trust)
    assert table["name"].to_pylist() == [f"{i:03d}" for i in range(60)]
    assert table["verdict"].to_pylist() == expected.verdict.tolist()
    assert table["owner"].to_pylist() == expected.owner.tolist()
    assert table["stable"].to_pylist() == expected.stable.tolist()


def test_by_default_a_row_has_few_columns(flowers, points, tmp_path):
    X, groups = points
    common = ["score", flowers, "--labels", "species", "--id", "name"]
    call(*common, "-o", tmp_path / "short.parquet")
    call(*common, "-o", tmp_path / "plain.parquet", "--no-calibration")
    call(*common, "-o", tmp_path / "long.parquet", "--details")
    short, plain, long = (open_source(tmp_path / f"{name}.parquet").read() for name in ["short", "plain", "long"])
    assert short.column_names == ["name", "label", "trust", "verdict", "rival", "own_affinity", "typicality"]
    assert plain.column_names == ["name", "label", "verdict", "rival", "own_affinity", "typicality"]
    assert long.column_names == ["name", *trust(X, np.array(list("abc"))[groups]).columns(details=True)]
    assert long.select(short.column_names).equals(short)


def test_labels_that_are_kept_as_identifiers_stay_numbers(points, tmp_path):
    X, groups = points
    group = np.where(np.arange(60) % 10 == 0, -1, groups)
    lines = [f"{x!r},{y!r},{g}" for (x, y), g in zip(X.tolist(), group, strict=True)]
    (tmp_path / "noisy.csv").write_text("\n".join(["x,y,group", *lines]))
    called = call("score", tmp_path / "noisy.csv", "--labels", "group", "--id", "group", "--json")
    lines = json.loads(called.stdout)["clusters"]
    assert sorted(line["cluster"] for line in lines[:-1]) == [0, 1, 2]
    assert lines[-1]["cluster"] == "noise"
    assert lines[-1]["replication"] is None


def test_centers_and_clusters_give_what_the_library_gives(flowers, points, tmp_path):
    X, _ = points
    (tmp_path / "centers.csv").write_text("height,width\n0,0\n0,6\n5,3\n")
    common = [flowers, "--id", "name", "--drop", "species"]
    call("score", *common, "--centers", tmp_path / "centers.csv", "--details", "-o", tmp_path / "a.csv")
    expected = trust(X, centers=[[0, 0], [6, 0], [3, 5]], influence="euclidean")
    np.testing.assert_allclose(affinities(tmp_path / "a.csv", range(3)), expected.affinity, atol=1e-12)
    np.testing.assert_array_equal(open_source(tmp_path / "a.csv").read()["trust"], expected.trust)
    call("score", *common, "--clusters", 4, "--seed", 3, "--details", "-o", tmp_path / "b.csv")
    labels = KMeans(4, n_init=10, random_state=3).fit(X).labels_
    expected = trust(X, labels, random_state=3)
    np.testing.assert_allclose(affinities(tmp_path / "b.csv", range(4)), expected.affinity, atol=1e-12)
    np.testing.assert_array_equal(open_source(tmp_path / "b.csv").read()["trust"], expected.trust)


def test_centers_without_names_are_taken_in_order(points, tmp_path):
    X, _ = points
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "centers.npy", [[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])
    np.save(tmp_path / "wrong.npy", np.ones((2, 3)))
    common = ["score", tmp_path / "points.npy", "--details"]
    call(*common, "--centers", tmp_path / "centers.npy", "-o", tmp_path / "a.parquet")
    expected = trust(X, centers=[[0, 0], [6, 0], [3, 5]], influence="euclidean")
    np.testing.assert_array_equal(affinities(tmp_path / "a.parquet", range(3)), expected.affinity)
    wrong = call("score", tmp_path / "points.npy", "--centers", tmp_path / "wrong.npy", code=1)
    assert "3 columns, but the data has 2 features" in wrong.stderr


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather", "jsonl", "json"])
def test_output_by_its_ending(flowers, tmp_path, ending):
    out = tmp_path / f"scores.{ending}"
    call("score", flowers, "--labels", "species", "--id", "name", "--details", "-o", out)
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
    assert lines[0] == "name,label,trust,verdict,rival,own_affinity,typicality"
    assert len(lines) == 61
    assert "Expected right: " in result.stderr
    assert call(*words, "--quiet", stdin=flowers.read_bytes()).stderr == ""


def headline(result):
    """Return the first line of the summary, as it must be printed."""
    low, high = result.replication_interval
    count = {name: int((result.verdict == name).sum()) for name in ["supported", "contested", "contradicted"]}
    return (
        f"Expected right: {100 * result.replication:.0f} % ({100 * low:.0f} to {100 * high:.0f}) of "
        f"{result.n_points} labels. " + ", ".join(f"{number} {name}" for name, number in count.items()) + "."
    )


def test_the_summary_names_the_clusters_and_the_labels_to_look_at(flowers, points):
    X, groups = points
    result = call("score", flowers, "--labels", "species", "--id", "name")
    expected = trust(X, groups)
    first, *lines = result.stdout.splitlines()
    assert first == headline(expected)
    worst = [f"{row:03d}" for row in expected.least_trusted(10)]
    listed = [line.split()[0] for line in lines if line.strip()[:3].isdigit()]
    assert listed[-10:] == worst
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    assert "measured by" in call("score", flowers, "--labels", "species", "--id", "name", "-v").stdout


def test_without_calibration_the_summary_speaks_of_verdicts(flowers, points):
    common = ["score", flowers, "--labels", "species", "--id", "name", "--no-calibration"]
    first = call(*common).stdout.splitlines()[0]
    found = json.loads(call(*common, "--json").stdout)
    counts = ", ".join(f"{found[name]} {name}" for name in ["supported", "contested", "contradicted"])
    assert first == f"60 labels: {counts}."
    assert found["replication"] is None
    assert "trust" not in found["review"][0]


@pytest.mark.parametrize("wrapped", ["100", "160"])
def test_on_a_terminal_lines_fit_and_wrap_between_words(flowers, tmp_path, wrapped):
    """In a real terminal, of the width that it says it has."""
    pty = pytest.importorskip("pty")
    words = ["score", str(flowers), "--labels", "species", "--id", "name"]
    shown = []
    master, slave = pty.openpty()
    environment = os.environ | {"COLUMNS": wrapped, "TERM": "xterm"}
    with subprocess.Popen([INSTALLED, *words], stdout=slave, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(slave)
        with suppress(OSError):
            while part := os.read(master, 4096):
                shown.append(part)
    os.close(master)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", b"".join(shown).decode())
    assert "Expected right: " in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= int(wrapped)


def test_json_is_one_object_and_nothing_else(flowers, points, tmp_path):
    X, groups = points
    out = tmp_path / "scores.csv"
    words = ["score", flowers, "--labels", "species", "--id", "name", "-o", out, "--json", "--show", 3]
    found = json.loads(call(*words).stdout)
    expected = trust(X, groups)
    assert found["version"] == __version__
    assert found["command"].startswith("allegiance score ")
    assert found["parameters"]["labels"] == "species"
    assert found["parameters"]["influence"] == "Within()"
    assert found["points"] == found["labels"] == 60
    assert found["replication"] == expected.replication
    assert found["replication_interval"] == list(expected.replication_interval)
    assert sorted(cluster["cluster"] for cluster in found["clusters"]) == ["a", "b", "c"]
    assert sum(cluster["points"] for cluster in found["clusters"]) == 60
    assert [point["trust"] for point in found["review"]] == expected.trust[expected.least_trusted(3)].tolist()
    columns = {"name", "label", "trust", "verdict", "rival", "own_affinity", "typicality"}
    assert set(found["review"][0]) == columns
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
    call(*common, "--details", "--top", 2, "-o", tmp_path / "top.csv")
    call(*common, "--details", "-o", tmp_path / "all.csv")
    top = open_source(tmp_path / "top.csv").read()
    assert "affinity_a" not in top.column_names
    largest = np.sort(affinities(tmp_path / "all.csv", "abc"), axis=1)[:, ::-1]
    np.testing.assert_allclose(top["affinity_1"], largest[:, 0])
    np.testing.assert_allclose(top["affinity_2"], largest[:, 1])
    assert top["cluster_1"].to_pylist() == top["owner"].to_pylist()


def test_a_threshold_that_is_not_met_has_its_own_exit_code(flowers, points):
    X, groups = points
    common = ["score", flowers, "--labels", "species", "--id", "name"]
    expected = trust(X, groups).replication
    call(*common, "--fail-under", expected, code=0)
    failed = call(*common, "--fail-under", expected + 1e-6, code=3)
    assert f"{expected:.1%} of the labels are expected to be right, below --fail-under" in failed.stderr
    assert call(*common, "--fail-under", 1, "--quiet", code=3).stderr == ""
    plain = ["score", flowers, "--drop", "species", "--id", "name", "--clusters", 12, "--no-calibration"]
    supported = json.loads(call(*plain, "--json").stdout)["supported"] / 60
    assert supported < 1
    call(*plain, "--fail-under", supported, code=0)
    failed = call(*plain, "--fail-under", supported + 1e-6, code=3)
    assert f"{supported:.1%} of the labels are supported" in failed.stderr


def iris(path, species):
    """Write the iris flowers with such labels."""
    X = load_iris().data
    rows = [f"{','.join(map(str, row))},{label}" for row, label in zip(X.tolist(), species, strict=True)]
    path.write_text("\n".join(["a,b,c,d,species", *rows]))
    return path


def test_shuffled_labels_are_not_trusted(tmp_path):
    """The species of iris hold; the same names in another order are supported nowhere, and do not pass."""
    species = load_iris().target_names[load_iris().target]
    right = call("score", iris(tmp_path / "right.csv", species), "--labels", "species", "--fail-under", 0.8)
    assert right.stdout.startswith("Expected right: 9")
    shuffled = iris(tmp_path / "shuffled.csv", np.random.default_rng(0).permutation(species))
    wrong = call("score", shuffled, "--labels", "species", "--fail-under", 0.8, code=3)
    assert " of 150 labels. 0 supported, " in wrong.stdout.splitlines()[0]
    assert "The labels look unrelated to the data" in wrong.stdout
    assert "below --fail-under 0.8" in wrong.stderr


@pytest.mark.parametrize("way", ["--in-memory", "--stream"])
@pytest.mark.parametrize("more", [[], ["--no-calibration"], ["--details"]], ids=["trust", "affinity", "details"])
def test_a_review_has_the_least_trusted_labels_first(flowers, tmp_path, way, more):
    common = ["score", flowers, "--labels", "species", "--id", "name", *more, way]
    call(*common, "-o", tmp_path / "all.parquet")
    whole = open_source(tmp_path / "all.parquet").read()
    order = np.argsort(whole["own_affinity" if "--no-calibration" in more else "trust"], kind="stable")
    for review, count in [("7", 7), ("5%", 3), ("0", 0), ("100%", 60), ("1000", 60)]:
        out = tmp_path / f"review-{count}-{review.strip('%')}.parquet"
        summary = call(*common, "--review", review, "-o", out).stdout
        assert open_source(out).read().equals(whole.take(order[:count]))
        # The summary is about all labels, whichever are written.
        assert "60 labels" in summary.splitlines()[0]


def test_a_point_unlike_its_cluster_is_said_to_be(points, tmp_path):
    X, groups = points
    path = tmp_path / "table.csv"
    many = np.vstack([X] * 12 + [[[30.0, -40.0]]])
    rows = [f"{x!r},{y!r},{g}" for (x, y), g in zip(many.tolist(), [*groups] * 12 + [0], strict=True)]
    path.write_text("\n".join(["x,y,group", *rows]))
    result = call("score", path, "--labels", "group", "--show", 800).stdout
    assert "1 point unlike anything in" in result
    assert "(typicality below 1 %)." in result
    [line] = [line for line in result.splitlines() if "unlike its cluster" in line]
    assert line.split()[0] == "720"
    found = json.loads(call("score", path, "--labels", "group", "--json").stdout)
    assert found["atypical"] == 1


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
    filled = call("score", path, "--clusters", 2, "--categorical", "drop", "--impute", "median")
    assert "1 missing values are filled in with the median of their column.\n" in filled.stderr
    filled = call("score", path, "--clusters", 2, "--categorical", "drop", "--impute", "median", "--quiet")
    assert (filled.stdout, filled.stderr) == ("", "")
    path.write_text("a,b,kind\n1,2,u\n2,3,\n8,9,u\n9,8,v\n1,1,u\n9,9,u\n")
    filled = call("score", path, "--clusters", 2, "--categorical", "one-hot", "--impute", "median")
    assert "with the median of their column, or with the most frequent category of it." in filled.stderr
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
        common = ["score", tmp_path / f"{name}.npz", "--labels", "groups", "--standardize", "--details"]
        common += ["--influence", "euclidean"]
        call(*common, "-o", tmp_path / f"{name}.csv")
    plain, scaled = (affinities(tmp_path / f"{name}.csv", range(3)) for name in ["plain", "scaled"])
    np.testing.assert_allclose(plain, scaled, atol=1e-9)


def test_settings_reach_the_scorer(flowers, points, tmp_path):
    X, groups = points
    out = tmp_path / "scores.csv"
    common = ["score", flowers, "--labels", "species", "--id", "name", "--details"]
    cases = {
        "--weights size:scale=auto": {"weights": Weights("size", scale="auto")},
        "--domain space": {"domain": "space"},
        "--influence euclidean --domain ball": {"influence": "euclidean", "domain": "ball"},
        "--influence rbf:gamma=0.5": {"influence": Kernel("rbf", gamma=0.5)},
        "--representative median --domain box:margin=0.5": {
            "representative": "median",
            "domain": Box(margin=0.5),
        },
        "--representative medoid": {"representative": "medoid"},
        "--engine shared:max_samples=5000 --eps 0.2": {"engine": SharedSamples(max_samples=5000), "eps": 0.2},
        "--resamples 3": {"n_resamples": 3},
        "--recluster agglomerative": {"clusterer": AgglomerativeClustering(3)},
    }
    for words, settings in cases.items():
        call(*common, "-o", out, "--force", *words.split())
        expected = trust(X, groups, **settings)
        np.testing.assert_allclose(affinities(out, "abc"), expected.affinity, atol=1e-9, err_msg=words)
        np.testing.assert_allclose(open_source(out).read()["trust"], expected.trust, atol=1e-9, err_msg=words)


def test_parameters_of_an_influence_reach_it(points, tmp_path):
    X, groups = points
    np.savez(tmp_path / "counts.npz", X=np.abs(X), groups=groups)
    out = tmp_path / "scores.csv"
    words = ["--labels", "groups", "--influence", "kl:smoothing=0.5", "--details", "-o", out]
    call("score", tmp_path / "counts.npz", *words)
    expected = trust(np.abs(X), groups, influence=KL(smoothing=0.5))
    np.testing.assert_allclose(affinities(out, range(3)), expected.affinity, atol=1e-9)


def test_clusters_that_kmeans_cannot_find_need_the_algorithm_that_made_them(tmp_path):
    X, halves = make_moons(300, noise=0.05, random_state=0)
    np.savez(tmp_path / "moons.npz", X=X, halves=halves)
    common = ["score", tmp_path / "moons.npz", "--labels", "halves", "--json"]
    found = json.loads(call(*common).stdout)
    assert "k-means, which stands in for the clusterer" in found["note"]
    assert found["note"].endswith("name the algorithm that made them with --recluster.")
    assert found["replication"] < 0.9
    better = json.loads(call(*common, "--recluster", "spectral").stdout)
    assert better["note"] is None
    assert better["replication"] > 0.9
    made = ["score", tmp_path / "moons.npz", "--drop", "halves", "--clusters", 2, "--algorithm", "spectral"]
    assert json.loads(call(*made, "--json").stdout)["replication"] > 0.9


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
    path.write_text("verdict,a,group\nx,1,0\ny,2,0\nz,9,1\n")
    result = call("score", path, "--labels", "group", "--id", "verdict", "-o", tmp_path / "o.csv", code=1)
    assert "--id verdict has the name of a column of the result" in result.stderr


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
    out = tmp_path / "scores.csv"
    found = json.loads(call("score", path, "--labels", "group", "--json", "-o", out).stdout)
    assert [cluster["cluster"] for cluster in found["clusters"]] == [0, 1, "noise"]
    assert (found["points"], found["labels"]) == (5, 4)
    assert open_source(out).read()["verdict"].to_pylist()[2] == "noise"
    assert open_source(out).read()["trust"].is_null(nan_is_null=True).to_pylist()[2]
    text = call("score", path, "--labels", "group").stdout
    assert " of 4 labels. " in text
    assert "1 point of noise, in no cluster (20% of all)." in text


@pytest.mark.parametrize("way", ["--in-memory", "--stream"])
def test_noise_among_names_is_noise(tmp_path, way):
    """No cluster is called -1, whatever the names look like."""
    path, out = tmp_path / "table.csv", tmp_path / "scores.csv"
    path.write_text("a,group\n1,c0\n2,c0\n5,-1\n8,c1\n9,c1\n")
    found = json.loads(call("score", path, "--labels", "group", "--details", "-o", out, "--json", way).stdout)
    assert [cluster["cluster"] for cluster in found["clusters"]] == ["c0", "c1", "noise"]
    table = open_source(out, text=["label"]).read()
    assert [name for name in table.column_names if name.startswith("affinity_")] == ["affinity_c0", "affinity_c1"]
    assert table["label"].to_pylist() == ["c0", "c0", "-1", "c1", "c1"]
    assert table["verdict"].to_pylist()[2] == "noise"


def test_the_report_shows_the_identifiers(flowers, tmp_path):
    page = tmp_path / "page.html"
    call("score", flowers, "--labels", "species", "--id", "name", "--report", page, "--clusters", 3, code=2)
    call("score", flowers, "--labels", "species", "--id", "name", "--report", page)
    assert "<!doctype html>" in page.read_text()[:200].lower()
    assert "exists already" in call("report", flowers, "--labels", "species", "--id", "name", "-o", page, code=1).stderr


def test_a_review_of_texts_has_the_words_for_the_rival(tmp_path):
    texts = ["wave tide", "wave sail", "tide sail", "oven dough", "oven salt", "dough salt"] * 8 + ["Oven and dough"]
    places = np.array([[0.0, 0.0], [0.3, 0.1], [0.1, 0.4], [4.0, 4.0], [4.3, 4.1], [4.1, 4.4]] * 8 + [[3.6, 3.7]])
    topics = ["sea", "sea", "sea", "kitchen", "kitchen", "kitchen"] * 8 + ["sea"]
    lines = [f"{x},{y},{topic},{text}" for (x, y), topic, text in zip(places, topics, texts, strict=True)]
    data = tmp_path / "notes.csv"
    data.write_text("\n".join(["x,y,topic,note", *lines]) + "\n", encoding="utf-8")
    common = ["score", data, "--labels", "topic", "--text", "note", "--review", "1", "-o"]
    call(*common, tmp_path / "review.parquet")
    (row,) = open_source(tmp_path / "review.parquet").read().to_pylist()
    assert (row["label"], row["rival"], row["text"]) == ("sea", "kitchen", "Oven and dough")
    assert set(row["words"].split(", ")) == {"oven", "dough"}
    refused = call(*common, tmp_path / "other.csv", "--stream", code=2)
    assert "--review with --text" in refused.stderr
