"""The process that answers a question: ``python -m allegiance.explorer.state._worker FOLDER``."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

from allegiance.io.saved import FORMAT, VERSION, decode, encode, read_state, write_state

from ._what_if import ANSWER, QUESTION, Stage, answer_of

#: Seconds between two lines about the same stage.
_PAUSE = 0.1


def main(folder: Path) -> None:
    """Read the question, write the answer, and say on standard output how far it is."""
    last = ("", 0.0)

    def tell(stage: Stage) -> None:
        nonlocal last
        now = time.monotonic()
        if stage.name != last[0] or now - last[1] > _PAUSE:
            last = (stage.name, now)
            print(json.dumps(stage), flush=True)

    state = {name: decode(value) for name, value in read_state(folder / QUESTION).items()}
    answer = answer_of(state, tell)
    write_state({"format": FORMAT, "version": VERSION, "answer": encode(answer._asdict(), "answer")}, folder / ANSWER)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        main(Path(sys.argv[1]))
    except (ValueError, TypeError, MemoryError) as error:
        sys.exit(str(error))
