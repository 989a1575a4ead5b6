"""Scoring more rows than memory holds."""
