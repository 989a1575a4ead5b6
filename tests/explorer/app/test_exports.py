import io
import urllib.request

import numpy as np
import pandas as pd
import pytest

from allegiance import apply_decisions


@pytest.fixture
def reviewed(serving, scored):
    """Return an explorer with four decisions, and the table that a download gives."""
    X, result = scored
    explorer = serving(result, X, ids=pd.DataFrame({"name": [f"=p{row}" for row in range(len(X))]}))
    session = explorer._session
    for decision in ("keep", "move", "noise", "unsure"):
        row = session.marked
        session.decide(row, decision, str(session.subject.names[session.subject.rival[row]]))

    def table(name):
        page, token = explorer.url.split("?")
        with urllib.request.urlopen(f"{page}export/{name}?{token}", timeout=20) as answer:
            assert name in answer.headers["Content-Disposition"]
            content = io.BytesIO(answer.read())
        return pd.read_csv(content) if name.endswith("csv") else pd.read_parquet(content)

    return explorer, table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_decisions_have_the_agreed_columns_and_can_be_applied(reviewed, scored, ending):
    explorer, table = reviewed
    found = table(f"decisions.{ending}")
    assert list(found) == ["row", "name", "label", "decision", "new_label", "decided_at"]
    assert found["decision"].tolist() == ["keep", "move", "noise", "unsure"]
    np.testing.assert_array_equal(apply_decisions(scored[1].label, found), explorer.labels)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_relabelled_table_holds_every_point(reviewed, scored, ending):
    explorer, table = reviewed
    X, result = scored
    found = table(f"relabelled.{ending}")
    np.testing.assert_array_equal(found["label"], explorer.labels)
    np.testing.assert_array_equal(found["label_before"], result.label)
    np.testing.assert_allclose(found["trust"], result.trust)
    np.testing.assert_allclose(found[["x0", "x1", "x2", "x3", "x4"]], X)
    assert found["decision"].notna().sum() == 4
    # A spreadsheet must not take a name for a formula.
    assert found["name"].str.startswith("'=" if ending == "csv" else "=").all()


def test_other_files_are_not_there(reviewed):
    explorer, _ = reviewed
    page, token = explorer.url.split("?")
    for name in ("secrets.csv", "decisions.exe"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{page}export/{name}?{token}", timeout=20)
