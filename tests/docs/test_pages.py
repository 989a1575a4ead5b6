"""Printed output on pages is compared with what the code prints."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
pages = pytest.importorskip("run_pages")


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/comparing.md", "docs/affinity.md"])
def test_every_output_follows_its_code(page):
    text = (ROOT / page).read_text()
    after_code = re.findall(r"```python\n(?:(?!\n```).)*\n```\n```text\n", text, re.DOTALL)
    assert len(after_code) + len(pages.EXAMPLE_BLOCK.findall(text)) == text.count("```text\n") > 0


def test_words_are_the_same_and_numbers_nearly():
    page = "97% of 1,780 labels (0.42)\nrow  label\n..."
    pages.check_printed(page, "95% of 1,700 labels (0.40)\nrow label\n  68  2", 1)
    for printed in ("80% of 1,780 labels (0.42)", "97% of 1,780 labels (0.52)", "97% of 1,780 points (0.42)", ""):
        with pytest.raises(AssertionError, match="line 1: the page shows"):
            pages.check_printed(page, f"{printed}\nrow label", 1)
