"""Questions to the measurements."""

from __future__ import annotations

from collections.abc import Sequence

from ._campaign import Measurement
from ._scenes import Scene


class Known:
    """What has been measured, by task, stage and scene."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._found = {(m.task, m.stage, m.scene): m for m in measurements}

    def find(self, task: str, stage: str, scene: Scene) -> Measurement | None:
        """Return a measurement; failing that, one that shows that fewer points of the kind were too many already."""
        if (task, stage, scene) in self._found:
            return self._found[task, stage, scene]
        smaller = (
            m
            for (name, part, other), m in self._found.items()
            if (name, part) == (task, stage) and other._replace(n=scene.n) == scene and other.n < scene.n
        )
        return next((m for m in smaller if m.outcome != "done"), None)

    def seconds(self, stages: Sequence[tuple[str, str]], scene: Scene) -> float | str | None:
        """Return the time of some stages together, or in words why there is none; None if nothing was tried."""
        total = 0.0
        for task, stage in stages:
            found = self.find(task, stage, scene)
            if found is None:
                return None
            if found.outcome != "done":
                return {"time": f"> {found.limit:g} s", "memory": "> 8 GB", "unreached": "no fit"}.get(
                    found.outcome, found.outcome
                )
            total += found.seconds
        return total if stages else None
