"""docs/dev/api.md lists the public names as they are."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "api_names.py"


def test_the_list_of_public_names_is_current():
    names = runpy.run_path(str(SCRIPT))
    text = names["PAGE"].read_text()
    rows = [[line for line in page.splitlines() if line.startswith("| `")] for page in (text, names["page"](text))]
    # Sentences come from docstrings, which change more often than names.
    listed, current = ([row.split("` |")[0] for row in each] for each in rows)
    assert listed == current, "run python docs/api_names.py"
    assert not [row for row in rows[1] if row.endswith("|  |")], "names without a sentence"
