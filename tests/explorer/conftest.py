import tempfile

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import trust
from allegiance.explorer import explore
from allegiance.explorer.state import DecisionLog, Session, Subject
from allegiance.report import check_features
from browsing.browser import CHROMEDRIVER, CHROMIUM
from browsing.explorer import ExplorerBrowser


def overlapping(n=300, k=4, d=5, seed=3, names=None):
    """Clusters that touch each other, with labels of k-means, as numbers or under ``names``."""
    X, _ = make_blobs(n, d, centers=k, cluster_std=4.0, random_state=seed)
    labels = KMeans(k, n_init=2, random_state=0).fit_predict(X)
    return X, labels if names is None else np.array(names)[labels]


@pytest.fixture(scope="module")
def scored():
    """Return data and the trust in its labels."""
    X, labels = overlapping()
    return X, trust(X, labels)


@pytest.fixture
def subject(scored):
    X, result = scored
    ids = {"customer": [f"c{row}" for row in range(len(X))]}
    return Subject.of_result(result, features=check_features(X, None, len(X)), ids=ids)


@pytest.fixture
def session(subject, tmp_path):
    made = Session(subject, DecisionLog(tmp_path / "log.jsonl", subject))
    yield made
    made.close()


@pytest.fixture(scope="session")
def chromium():
    """Return the one browser of all tests of the explorer."""
    if CHROMIUM is None or CHROMEDRIVER is None:
        pytest.skip("needs Chromium: install the packages chromium and chromium-driver")
    with tempfile.TemporaryDirectory() as downloads:
        made = ExplorerBrowser(downloads)
        yield made
        made.driver.quit()


@pytest.fixture
def browser(chromium):
    """Return the browser with a single fresh tab, which must not have complained in the end."""
    driver = chromium.driver
    for extra in driver.window_handles[1:]:
        driver.switch_to.window(extra)
        driver.close()
    driver.switch_to.window(driver.window_handles[0])
    chromium.set_width(1400, 1300)
    yield chromium
    # The server of the test has ended by now, which tabs still open notice.
    complaints = [said for said in chromium.console_errors() if "ERR_CONNECTION_REFUSED" not in said]
    driver.get("about:blank")
    assert not complaints


@pytest.fixture
def serving(tmp_path):
    """Start explorers of results, which end with the test."""
    running = []

    def start(result, X=None, **settings):
        settings = {"decisions": tmp_path / "decisions.jsonl", "open_browser": False} | settings
        running.append(explore(result, X, **settings))
        return running[-1]

    yield start
    for explorer in running:
        explorer.close()
