"""The experiments themselves, with few seeds: what they find, not exact numbers. Times are not asserted."""

from __future__ import annotations

import pytest

from reproduction import EXPERIMENTS, run_paper

#: Experiments that need files which are not part of the project.
NEED_MNIST = ("incremental", "digits")
#: Claims of the paper that we do not find; each is explained on the page.
NOT_CONFIRMED = (
    # A sign test over two draws cannot reach its level.
    "k-means gives the point to c2 more often than to c3",
    "Ratios of distances behave like ratios of volumes to the power 1/d",
    "With dense corners a clearly smaller area is unstable (weights by size)",
    "The share of unstable points does not grow from batch to batch",
    "Nothing is lost by projecting on the span of the centers",
    "18, 8, 30 and 17% of the points are unstable",
    # Consensus and k-means are nearly equal in these, and which is ahead by a little depends on the seeds. On MNIST the
    # consensus is clearly closer to the reference.
    *(f"The consensus is closer to the reference than k-means ({data})" for data in ("2D5C-500", "Iris", "Soybean")),
    *(
        f"The consensus has no more unstable points than k-means ({data})"
        for data in ("2D5C-500", "Iris", "Soybean", "MNIST test data")
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_finds_what_the_page_says(name, tmp_path):
    (outcome,) = run_paper(tmp_path, only=[name], n_seeds=2)
    if outcome.section is None:
        assert name in NEED_MNIST
        pytest.skip(outcome.skipped)
    surprising = [
        f"{finding.claim}: {finding.decided_by}"
        for finding in outcome.section.findings
        if not finding.confirmed and not finding.timed and finding.claim not in NOT_CONFIRMED
    ]
    assert surprising == []
    assert (tmp_path / "paper.md").read_text().count(f"## {outcome.section.title}\n") == 1
    assert all(
        (tmp_path / "images" / "paper" / picture.file).stat().st_size > 0 for picture in outcome.section.pictures
    )
