"""Scores for engines that hand over Arrow data: Spark, DuckDB, Polars and others."""

from ._score import score_arrow

__all__ = ["score_arrow"]
