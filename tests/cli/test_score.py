"""``allegiance score``, ``check`` and ``audit`` in memory: the numbers of the library, in the columns of the file."""

import json
import os
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from allegiance import AffinityScorer, Calibration
from allegiance.io import open_table, propose
from cli.command import call

FAST = ["--resamples", 3]
LABELLED = ["--labels", "species", *FAST]
ADDED = ["cluster", "trust", "verdict", "rival", "priority"]


def in_memory(path, labels="species", **settings):
    """Score a table by the library alone."""
    table = open_table(path)
    plan = propose(table, labels=labels, **settings)
    X = plan.matrix(table.read(list(plan.used), typed=False))
    y = None if labels is None else np.array(table.read([labels]).column(0).to_pylist())
    return AffinityScorer(influence="within", calibration=Calibration(3), random_state=0).fit_affinity(X, y)


def test_the_same_table_comes_out_with_the_scores_of_the_library(flowers, tmp_path):
    result = call("score", flowers, *LABELLED, "-o", tmp_path / "out.csv")
    before, output = pd.read_csv(flowers, dtype=str), pd.read_csv(tmp_path / "out.csv", dtype={"cluster": str})
    assert list(output) == [*before, *ADDED]
    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    pd.testing.assert_frame_equal(written[list(before)], before)
    expected = in_memory(flowers)
    np.testing.assert_allclose(output["trust"], expected.trust, rtol=1e-12)
    assert output["verdict"].tolist() == expected.verdict.tolist()
    assert output["cluster"].tolist() == expected.label.tolist()
    text = result.stdout
    order = [f"{100 * expected.replication:.0f}% of 60 labels would hold up on a fresh sample", "Separation between",
             "high height", "id: name"]  # fmt: skip
    assert sorted(map(text.index, order)) == list(map(text.index, order)), "replication, drivers, clusters, provenance"
    assert "90% prediction interval" in text


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_every_format_has_the_same_columns(flowers, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    call("score", flowers, *LABELLED, "-o", out)
    table = open_table(out)
    assert table.columns == ["name", "width", "height", "species", *ADDED]
    assert table.read(["name"]).column(0).to_pylist() == [f"f{i:03d}" for i in range(60)]
    if ending == "xlsx":
        sheet = pytest.importorskip("openpyxl").load_workbook(out)["summary"]
        titles = [str(cell.value) for cell in sheet["A"] if cell.font.bold and cell.value]
        assert any("would hold up" in title for title in titles[:2])
        assert titles[-1] == "Provenance"
    if ending == "parquet":
        assert str(table.schema.field("width").type) == "double"
        assert json.loads(pq.read_schema(out).metadata[b"allegiance"])["command"].startswith("allegiance score")


def test_a_messy_table_needs_no_option(tmp_path, rng):
    rows = ["Kunde;Umsatz;Vertrag;Seit;Notiz;Leer"]
    for i in range(80):
        sales = f"{1000 + 900 * (i % 2) + rng.normal():.2f}".replace(".", ",")
        rows.append(f"K{i:03d};{'n/a' if i == 7 else sales};{['kurz', 'lang'][i % 2]};0{i % 9 + 1}.03.2024;Text {i};")
    (tmp_path / "kunden.csv").write_bytes("\n".join(rows).encode("cp1252"))
    result = call("score", tmp_path / "kunden.csv", "--clusters", 2, *FAST, "-o", tmp_path / "out.csv")
    output = pd.read_csv(tmp_path / "out.csv")
    assert list(output)[:6] == ["Kunde", "Umsatz", "Vertrag", "Seit", "Notiz", "Leer"]
    assert output.groupby(output["Vertrag"])["cluster"].nunique().tolist() == [1, 1]
    for text in ("left out: Leer", "categories", "dates", "filled with the median: Umsatz (1)"):
        assert text in result.stdout


def test_unicode_names_and_labels_are_written_as_they_were_read(tmp_path):
    path, out = tmp_path / "größen.csv", tmp_path / "ergebnis.csv"
    rows = [[f"{i}{'日é'[i % 2]}", str(i % 5), str(i % 3), "äö"[i // 10]] for i in range(20)]
    path.write_text("名前,größe,重さ,группа\n" + "\n".join(map(",".join, rows)), encoding="utf-8")
    call("score", path, "--labels", "группа", "--resamples", 2, "-o", out)
    output = pd.read_csv(out, dtype=str)
    assert list(output)[:4] == ["名前", "größe", "重さ", "группа"]
    assert output.iloc[:, :4].to_numpy().tolist() == rows


def test_a_table_that_cannot_be_read_leaves_no_output(tmp_path):
    (tmp_path / "table.csv").write_text('a,b,group\n1,2,x\n2,1,"x\n')
    result = call("score", tmp_path / "table.csv", "--labels", "group", "-o", tmp_path / "out.csv", code=1)
    assert "line 3 is not closed" in result.stderr
    assert os.listdir(tmp_path) == ["table.csv"]


def test_check_proposes_and_names_all_problems_at_once(flowers, tmp_path):
    text = call("check", flowers).stdout
    assert "id: name" in text
    assert "numbers (2): width, height" in text
    plan = json.loads(call("check", flowers, "--json").stdout)["plan"]
    assert {column["name"]: column["role"] for column in plan["columns"]}["name"] == "id"
    (tmp_path / "bad.csv").write_text("a,b\n1,x\n,y\n3,\n")
    text = call("check", tmp_path / "bad.csv", "--raw", code=1).stdout
    assert text.count("error:") == 1


def test_the_review_list_is_written_with_the_output(flowers, tmp_path):
    common = ["score", flowers, *LABELLED, "--review", 5]
    text = call(*common, "--review-output", tmp_path / "review.csv", "-o", tmp_path / "out.csv").stdout
    result = pd.read_csv(tmp_path / "review.csv", dtype={"reason": str})
    expected = in_memory(flowers).review(5)
    assert result["name"].tolist() == [f"f{row:03d}" for row in expected.index]
    assert result["reason"].fillna("").tolist() == expected["reason"].tolist()
    assert list(result) == [*pd.read_csv(tmp_path / "out.csv"), "reason"]
    assert all(name in text for name in result["name"])
    words = ["--review-by", "trust", "--review-output", tmp_path / "trust.csv"]
    assert "sorted by trust" in call(*common, *words).stdout
    assert pd.read_csv(tmp_path / "trust.csv")["trust"].is_monotonic_increasing


def test_long_texts_are_cut_on_the_screen_and_nowhere_else(flowers, tmp_path):
    frame = pd.read_csv(flowers).assign(story=[f"line one\n{'word ' * 200}{i}" for i in range(60)])
    frame.to_csv(tmp_path / "long.csv", index=False)
    words = ["score", tmp_path / "long.csv", *LABELLED, "--text", "story", "--review", 3, "-o", tmp_path / "out.csv"]
    lines = [line for line in call(*words).stdout.splitlines() if "word word" in line]
    assert len(lines) == 3
    assert max(map(len, lines)) < 120
    assert pd.read_csv(tmp_path / "out.csv")["story"].tolist() == frame["story"].tolist()


def test_rows_without_a_label_are_left_out_and_counted(flowers, tmp_path):
    lines = flowers.read_text().splitlines()
    lines[4] = lines[4].rpartition(",")[0] + ","
    flowers.write_text("\n".join(lines))
    result = call("score", flowers, *LABELLED, "-o", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["name"].tolist() == [f"f{i:03d}" for i in range(60) if i != 3]
    assert "59 labels" in result.stdout


@pytest.mark.parametrize(
    "algorithm",
    ["kmeans", "hdbscan", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gmm", "agglomerative", "leiden"))],
)
def test_clusters_are_made_by_any_algorithm(flowers, tmp_path, algorithm):
    clusters = [] if algorithm in ("hdbscan", "leiden") else ["--clusters", 3]
    words = ["--drop", "species", "--algorithm", algorithm, *clusters, *FAST]
    call("score", flowers, *words, "-o", tmp_path / "out.csv")
    result = pd.read_csv(tmp_path / "out.csv")
    species = pd.read_csv(flowers)["species"]
    assert pd.crosstab(species, result["cluster"]).max(axis=1).sum() > 50


def test_a_clusterer_of_your_own_and_groups(flowers, tmp_path, monkeypatch):
    (tmp_path / "own_clusterer.py").write_text("def split(X):\n    return (X[:, 0] > 0).astype(int)\n")
    monkeypatch.chdir(tmp_path)
    pd.read_csv(flowers).assign(batch=np.arange(60) % 12).to_csv("t.csv", index=False)
    words = ["--drop", "species", "--clusterer", "own_clusterer:split", "--groups", "batch", *FAST, "--json"]
    result = json.loads(call("score", "t.csv", *words).stdout)
    assert len(result["clusters"]) == 2
    assert "batch" not in [column["column"] for column in result["drivers"]["columns"]]
    assert "cannot be imported" in call("score", "t.csv", "--clusterer", "own_clusterer:nothing", code=2).stderr


def test_centers_by_name_and_by_place(flowers, tmp_path, points):
    X, groups = points
    means = np.array([X[groups == group].mean(axis=0) for group in range(3)])
    pd.DataFrame(means[:, ::-1], columns=["height", "width"]).to_csv(tmp_path / "centers.csv", index=False)
    np.save(tmp_path / "centers.npy", means)
    result = []
    for name in ("centers.csv", "centers.npy"):
        out = tmp_path / f"{name}.out.csv"
        call("score", flowers, "--drop", "species", "--centers", tmp_path / name, *FAST, "-o", out)
        result.append(pd.read_csv(out))
    np.testing.assert_allclose(result[0]["trust"], result[1]["trust"], atol=1e-9)
    assert (result[0]["cluster"] == groups).mean() > 0.9
    means[1, 0] = np.nan  # once filled with the median of the data
    pd.DataFrame(means, columns=["width", "height"]).to_csv(tmp_path / "centers.csv", index=False)
    words = ["score", flowers, "--drop", "species", "--centers", tmp_path / "centers.csv"]
    assert "(--centers) has missing values: width (1)" in call(*words, code=1).stderr


def test_standard_input_is_read_once_and_standard_output_gets_the_table(flowers):
    result = call("score", "-", *LABELLED, "-o", "-", stdin=flowers.read_text())
    assert result.stdout.splitlines()[0] == "name,width,height,species,cluster,trust,verdict,rival,priority"
    assert "would hold up" in result.stderr
    missing = ["--missing", "width=0", "--missing", "-99"]
    result = call("score", "-", *LABELLED, *missing, "--json", stdin=flowers.read_text())
    assert json.loads(result.stdout)["rows"] == 60


def test_json_is_one_object_with_provenance_and_figures(flowers, tmp_path):
    common = ["score", flowers, *LABELLED, "--seed", 4]
    result = json.loads(call(*common, "--json", "-o", tmp_path / "out.csv").stdout)
    assert result["command"].endswith("out.csv")
    assert result["rows"] == result["labels"] == 60
    assert result["firm"] + result["borderline"] + result["doubtful"] == 60
    assert [*result][2:4] == ["problems", "headline"], "the order of all outputs"
    assert result["drivers"]["columns"][0]["column"] in ("width", "height")
    assert {line["cluster"] for line in result["clusters"]} == {"a", "b", "c"}
    assert all(line["description"] for line in result["clusters"])
    assert {row["verdict"] for row in result["review"]} <= {"borderline", "doubtful"}
    assert len(result["review"]) == min(10, result["borderline"] + result["doubtful"])


#: More clusters than there are groups, so that some labels are doubtful.
SPLIT = ["--drop", "species", "--clusters", 6, *FAST]


def test_fail_under_refers_to_replication(flowers):
    common = ["score", flowers, *SPLIT]
    share = json.loads(call(*common, "--json").stdout)["replication"]
    assert share < 0.95
    call(*common, "--fail-under", share - 0.01)
    assert "replication is 0." in call(*common, "--fail-under", share + 0.01, code=3).stderr
    assert "--fail-on-notes" not in call(*common).stderr


def test_a_report_has_the_columns_of_the_file_and_the_names_of_the_summary(flowers, tmp_path):
    """Once: numbers of a CSV file were texts for the page, which left clusters unnamed."""
    page = tmp_path / "page.html"
    words = ["--drop", "species", "--clusters", 3, *FAST, "-o", tmp_path / "out.csv", "--report", page, "--json"]
    words += ["--map", "width,height"]
    lines = json.loads(call("score", flowers, *words).stdout)["clusters"]
    names = {line["name"] for line in lines}
    text = page.read_text()
    assert "f001" in text
    assert "flowers.csv" in text.partition("</title>")[0]
    assert str(tmp_path) not in text.partition("</title>")[0], "the name of the file, not its path"
    result = re.search(r'"clusterNames": *(\[[^]]*\])', text)
    assert result is not None
    assert set(json.loads(result[1])) == names
    assert all("width" in name or "height" in name for name in names)
    assert not any("species" in name for name in names), "it was dropped"


def test_outputs_are_never_written_over_each_other(flowers, tmp_path, monkeypatch):
    """Once: -o z.csv --save ./z.csv said "Wrote" twice, and the scores were gone."""
    monkeypatch.chdir(tmp_path)
    common = ["score", flowers, *LABELLED, "-o", "z.csv"]
    for option in ("--save", "--report"):
        assert "both write" in call(*common, option, "./z.csv", code=2).stderr
    assert "both write" in call(*common, "--review", 5, "--review-output", tmp_path / "z.csv", code=2).stderr
    os.symlink("z.csv", "link.csv")
    assert "both write" in call(*common, "--save", "link.csv", code=2).stderr


@pytest.mark.parametrize("option", ["-o", "--report", "--save", "--review-output"])
def test_a_file_that_appears_during_the_run_is_not_replaced(flowers, tmp_path, option, monkeypatch):
    path = tmp_path / ("page.html" if option == "--report" else "new.csv")
    fit = AffinityScorer.fit_affinity

    def meanwhile(self, *args, **settings):
        path.write_text("theirs")
        return fit(self, *args, **settings)

    monkeypatch.setattr(AffinityScorer, "fit_affinity", meanwhile)
    words = ["score", flowers, *LABELLED, "--review", 3, option, path]
    assert "already exists" in call(*words, code=1).stderr
    assert path.read_text() == "theirs"


@pytest.mark.parametrize("option", ["-o", "--report", "--save"])
def test_inputs_are_never_replaced(flowers, tmp_path, option):
    before = flowers.read_bytes()
    os.symlink(flowers, tmp_path / "link.csv")
    for path in (flowers, tmp_path / "link.csv"):
        words = ["score", flowers, "--labels", "species", option, path, "--if-exists", "replace"]
        assert "is an input" in call(*words, code=1).stderr
    assert flowers.read_bytes() == before


def test_if_exists_updates_only_what_has_changed(flowers, tmp_path):
    out, model, first_rows = tmp_path / "out.csv", tmp_path / "a.model", tmp_path / "first.csv"
    common = ["score", flowers, *SPLIT, "-o", out, "--save", model, "--review", 5, "--review-output", first_rows]
    call(*common)
    first = out.read_bytes()
    record = json.loads((tmp_path / "out.csv.run.json").read_text())
    assert {"command", "replication", "seed", "libraries", "model_id"} <= {*record}
    assert "already exists" in call(*common, code=1).stderr
    update = [*common, "--if-exists", "update"]
    assert "up to date" in call(*update, "--n-jobs", 1).stderr, "threads do not count"
    for damage in (lambda: out.write_text("half"), first_rows.unlink):
        damage()
        assert "up to date" not in call(*update).stderr
        assert (out.read_bytes(), first_rows.exists()) == (first, True)
    assert "up to date" not in call(*update, "--seed", 1).stderr
    assert out.read_bytes() != first
    flowers.write_text(flowers.read_text().replace("f000,", "g000,"))
    assert "up to date" not in call(*update).stderr
    assert "g000" in out.read_text()


def test_a_run_record_replaces_no_other_file(flowers, tmp_path):
    out, record = tmp_path / "out.csv", tmp_path / "out.csv.run.json"
    common = ["score", flowers, *LABELLED, "-o", out]
    assert "both write" in call(*common, "--save", record, code=2).stderr
    record.write_text('{"mine": true}')
    assert "is not a run record" in call(*common, code=1).stderr
    assert record.read_text() == '{"mine": true}'
    assert not out.exists()
    record.unlink()
    call("score", flowers, *LABELLED, "--save", record)
    assert "is not a run record" in call("score", flowers, "--model", record, "-o", out, code=1).stderr


def test_an_audit_matches_rows_by_identifier(flowers, tmp_path, points):
    _, groups = points
    frame = pd.read_csv(flowers).drop(columns="species")
    frame.to_csv(tmp_path / "plain.csv", index=False)
    common = ["score", tmp_path / "plain.csv", "--clusters", 3, *FAST, "--audit-size", 20]
    call(*common, "-o", tmp_path / "scored.csv", "--audit-sheet", tmp_path / "audit.csv")
    sheet = pd.read_csv(tmp_path / "audit.csv")
    assert list(sheet) == ["right", "cluster", "name", "width", "height", "audit_key"], "blind to trust and verdict"
    scored = pd.read_csv(tmp_path / "scored.csv").set_index("name")
    audit = ["audit", tmp_path / "scored.csv", tmp_path / "filled.csv"]

    def answer(right, code=0):
        sheet.assign(right=right).to_csv(tmp_path / "filled.csv", index=False)
        result = call(*audit, "--json", code=code)
        return json.loads(result.stdout) if code == 0 else result.stderr

    assert "no answer" in answer(None, code=1)
    own = pd.crosstab(scored["cluster"], groups).idxmax(axis=1)
    truth = groups[sheet["name"].str[1:].astype(int)]
    right = own.reindex(sheet["cluster"]).to_numpy() == truth
    output = answer(np.where(right, "yes", "no"))
    assert output["n_random"] == 10
    share = (own.reindex(scored["cluster"]).to_numpy() == groups).mean()
    assert output["interval"][0] - 1e-9 <= share <= output["interval"][1] + 1e-9
    corrected = own.reset_index().set_index(0)["cluster"].reindex(truth).to_numpy()
    assert answer(corrected)["share_right"] == output["share_right"]
    mixed = np.where(right, "yes", corrected.astype(str))
    assert answer(mixed)["share_right"] == output["share_right"], "yes and no mixed with clusters"
    assert "write yes, no or the right cluster" in answer("perhaps", code=1)
    assert "write yes and no" in answer(np.where(right, "1", "0"), code=1)
    scored.reset_index().sort_values("trust").to_csv(tmp_path / "scored.csv", index=False)
    assert answer(mixed)["share_right"] == output["share_right"], "SCORED was sorted"
    sheet.head(0).to_csv(tmp_path / "filled.csv", index=False)
    assert "has no rows" in call(*audit, code=1).stderr
    assert "is not an audit sheet" in call("audit", *audit[1:2], tmp_path / "plain.csv", code=1).stderr
    assert "plain.csv is not a scored table" in call("audit", tmp_path / "plain.csv", audit[2], code=1).stderr


def test_an_audit_of_clusters_named_yes_and_no_in_a_workbook(flowers, tmp_path):
    """Cells filled with the cluster of their row gave 29% instead of 100%."""
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.read_csv(flowers).replace({"species": {"a": "yes", "b": "no", "c": "no"}})
    frame.to_csv(tmp_path / "named.csv", index=False)
    words = ["score", tmp_path / "named.csv", *LABELLED, "-o", tmp_path / "scored.xlsx"]
    call(*words, "--audit-sheet", tmp_path / "sheet.xlsx")
    book = openpyxl.load_workbook(tmp_path / "sheet.xlsx")
    sheet = book["table"]
    assert sheet.data_validations.dataValidation[0].formula1 == '"yes,no"'
    cells = [cell for row in book["summary"].values for cell in row if cell is not None]
    assert {"cluster", "name", "description"} <= {*cells}, "a reviewer sees what the clusters are"
    assert not any(str(cell).startswith(("trust", "verdict", "firm")) for cell in cells)
    for row in range(2, sheet.max_row + 1):
        sheet.cell(row, 1).value = sheet.cell(row, 2).value
    book.save(tmp_path / "sheet.xlsx")
    result = json.loads(call("audit", tmp_path / "scored.xlsx", tmp_path / "sheet.xlsx", "--json").stdout)
    assert result["share_right"] == 1.0


@pytest.mark.parametrize("name", ["label", "trust", "verdict", "rival", "own_affinity", "typicality", "priority"])
def test_scores_only_for_a_table_with_a_column_named_like_a_score(flowers, tmp_path, name):
    pd.read_csv(flowers).rename(columns={"width": name}).to_csv(tmp_path / "t.csv", index=False)
    call("score", tmp_path / "t.csv", *LABELLED, "--scores-only", "-o", tmp_path / "out.csv")
    assert {"name", "cluster", "trust", "typicality"} <= {*pd.read_csv(tmp_path / "out.csv")}


def test_a_table_can_be_scored_three_times(flowers, tmp_path):
    for number, source in enumerate([flowers, tmp_path / "0.csv", tmp_path / "1.csv"]):
        call("score", source, *LABELLED, "--id", "name", "-o", tmp_path / f"{number}.csv")
    output = pd.read_csv(tmp_path / "2.csv")
    for name in ("cluster", "allegiance_cluster", "allegiance2_cluster"):
        assert output[name].tolist() == output["species"].tolist()


def test_outputs_do_not_go_into_the_input_folder(flowers, tmp_path):
    words = ["score", tmp_path, *LABELLED, "-o", tmp_path / "out.csv"]
    assert "is in the input folder" in call(*words, code=2).stderr


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("out.docx", "has no known ending"),
        ("https://host/out.csv", "outputs are local files"),
        ("no/out.csv", "folder"),
    ],
)
def test_outputs_are_checked_before_the_table_is_read(output, message):
    result = call("score", "no-such-table.csv", "--clusters", 2, "-o", output, code=1)
    assert message in result.stderr
    assert "no-such-table.csv does not exist" not in result.stderr


def test_several_files_and_folders_are_one_table(flowers, tmp_path):
    frame = pd.read_csv(flowers)
    (tmp_path / "parts").mkdir()
    for part in range(2):
        frame[part * 30 : part * 30 + 30].to_csv(tmp_path / "parts" / f"{part}.csv", index=False)
    sources = {"one": [flowers], "two": sorted((tmp_path / "parts").iterdir()), "folder": [tmp_path / "parts"]}
    result = []
    for name, data in sources.items():
        call("score", *data, "--labels", "species", "--resamples", 0, "-o", tmp_path / f"{name}.csv")
        result.append(pd.read_csv(tmp_path / f"{name}.csv"))
    for other in result[1:]:
        pd.testing.assert_frame_equal(result[0], other, rtol=1e-9)
