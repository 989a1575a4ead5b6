"""A short form of every attack, and whether the attacks would notice."""

from pathlib import Path

import numpy as np
import pytest

from attacks import random_calls
from attacks._common import MODULES, generator, load
from attacks.injection import open_and_touch, start_browser


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_no_promise_is_broken(module, tmp_path):
    attack = load(module)
    tally = attack.make(attack.short, generator(1, module), tmp_path)
    if tally.skipped:
        pytest.skip(tally.skipped)
    assert tally.broken == []
    assert tally.attempts >= attack.short


def test_every_attack_is_listed():
    folder = Path(random_calls.__file__).parent
    assert set(MODULES.values()) == {path.stem for path in folder.glob("[a-z]*.py")}
    assert [load(name).name for name in MODULES]


class Result:
    """A result, as far as it is looked at."""

    classes = np.array([0, 1])

    def __init__(self, affinity):
        self.affinity = np.array(affinity)
        self.standard_error = self.own_affinity = np.zeros(2)

    def frame(self, details=False):
        return {"owner": self.classes, "residual": np.zeros(2), "closeness": np.zeros(2)}


@pytest.mark.parametrize(
    "affinity", [[[0.5, 0.6], [1, 0]], [[np.nan, 1], [1, 0]], [[-0.5, 1.5], [1, 0]], [[np.inf, 0], [1, 0]]]
)
def test_wrong_numbers_are_noticed(affinity):
    random_calls.assert_sane(Result([[0.5, 0.5], [1.0, 0.0]]))
    with pytest.raises(AssertionError):
        random_calls.assert_sane(Result(affinity))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("markup", "says"),
    [
        ("", None),
        ("<script>window.hacked = 1</script>", "a script of the data ran"),
        ("<script>alert(1)</script>", "window"),
        ("<a id=lure>x</a>", "markup of the data"),
        ("<img src=http://attacker.invalid/x.png>", "it called http://attacker.invalid"),
    ],
)
def test_what_a_page_lets_through_is_noticed(markup, says, tmp_path):
    browser, reason = start_browser()
    if browser is None:
        pytest.skip(reason)
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><html data-ready=true><body>{markup}</body></html>")
    try:
        effect = open_and_touch(browser, page.as_uri())
    finally:
        browser.quit()
    assert (effect is None) if says is None else (effect is not None and says in effect)
