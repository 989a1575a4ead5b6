"""Scoring Dask collections."""
