"""Models: a scorer with the preparation of its tables, in one file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer
from allegiance.io._old_tables import PreparedSource, TableError, open_source, plan_features
from allegiance.io.models import Model, described
from allegiance.io.streams import fit_stream, score_stream


@pytest.fixture
def january(tmp_path, rng):
    group = np.repeat([0, 1, 2], 40)
    frame = pd.DataFrame(
        {
            "customer": [f"{i:04d}" for i in range(120)],
            "visits": rng.normal(10 * group, 2).round(3),
            "spent": [f"${value:,.2f}" for value in np.abs(rng.normal(1000 * (group + 1), 99))],
            "plan": np.array(["basic", "plus", "pro"])[group],
        }
    )
    frame.loc[3, "visits"] = np.nan
    frame.to_csv(tmp_path / "january.csv", index=False)
    return tmp_path / "january.csv"


@pytest.fixture
def model(january):
    source = open_source(january, text=["customer"])
    features = plan_features(source, apart=["customer"], one_hot=["plan"], impute="median", standardize=True)
    settings = AffinityScorer(influence="within", calibration=3)
    scorer = fit_stream(PreparedSource(source, features), settings, n_clusters=3, columns=features.names)
    return Model(scorer, features, described(features, source, ids=["customer"]))


def test_a_model_comes_back_with_everything(model, january, tmp_path):
    model.save(tmp_path / "january.model")
    loaded = Model.load(tmp_path / "january.model")
    assert loaded.features.readings == model.features.readings
    assert loaded.features.names == model.features.names
    assert loaded.about == json.loads(json.dumps(model.about))
    assert [entry["column"] for entry in loaded.about["columns"]] == ["visits", "spent", "plan"]
    source = open_source(january, text=["customer"])
    features = loaded.features_for(source)
    assert features.noticed.ignored == ()  # the identifier is known
    X = features.prepare(source.read()).matrix
    np.testing.assert_array_equal(X, model.features.prepare(source.read()).matrix)
    fitted = model.scorer.fitted_.without_preprocessing()
    np.testing.assert_array_equal(loaded.scorer.affinity(X).trust, fitted.score(X).trust)
    np.testing.assert_array_equal(loaded.scorer.predict(X), fitted.predict(X))


def test_in_python_a_model_is_a_scorer_of_frames(model, january, tmp_path):
    model.save(tmp_path / "january.model")
    scorer = AffinityScorer.load(tmp_path / "january.model")
    frame = pd.read_csv(january)
    expected = model.scorer.fitted_.without_preprocessing().score(
        model.features.prepare(open_source(january).read()).matrix
    )
    np.testing.assert_array_equal(scorer.affinity(frame).trust, expected.trust)
    assert scorer.feature_names_in_.tolist() == ["visits", "spent", "plan"]
    score_stream(january, tmp_path / "january.model", tmp_path / "scores.parquet", keep=["customer"], batch_rows=50)
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "scores.parquet")["trust"], expected.trust)


def test_other_parts_are_kept_beside_it(model, tmp_path):
    model.scorer._set_fitted(model.scorer.fitted_.with_part("remark", "seen in spring"))
    model.save(tmp_path / "january.model")
    parts = AffinityScorer.load(tmp_path / "january.model").fitted_.parts
    assert parts["remark"] == "seen in spring"
    assert {"about", "table"} <= set(parts)


def test_a_scorer_saved_without_a_table_scores_columns_by_name_or_number(tmp_path, january):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["b", "a"])
    X.assign(name=1)[["name", "a", "b"]].to_csv(tmp_path / "t.csv", index=False)
    source = open_source(tmp_path / "t.csv")
    named = AffinityScorer(KMeans(2, n_init=1, random_state=0)).fit(X)
    named.save(tmp_path / "named.scorer")
    assert Model.load(tmp_path / "named.scorer").features_for(source).names == ("b", "a")
    AffinityScorer(KMeans(2, n_init=1, random_state=0)).fit(X.to_numpy()).save(tmp_path / "unnamed.scorer")
    unnamed = Model.load(tmp_path / "unnamed.scorer")
    assert unnamed.features_for(source, ["name"]).names == ("a", "b")
    with pytest.raises(TableError, match="3 columns to be features, but the model has 2"):
        unnamed.features_for(source)
    AffinityScorer(make_pipeline(StandardScaler(), KMeans(2, n_init=1))).fit(X).save(tmp_path / "own.scorer")
    with pytest.raises(TableError, match="transformers of its own"):
        Model.load(tmp_path / "own.scorer").features_for(source)


def test_a_table_described_in_another_way_is_refused(model, tmp_path):
    scorer = model.scorer
    scorer._set_fitted(scorer.fitted_.with_part("table", '{"columns": [{"column": "x"}]}'))
    scorer.save(tmp_path / "odd.model")
    with pytest.raises(ValueError, match="its table is described in an unknown way"):
        Model.load(tmp_path / "odd.model")
