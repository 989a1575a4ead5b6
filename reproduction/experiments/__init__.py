"""One module per experiment, each with ``run(setup) -> Section``."""
