"""Uniform points of convex bodies."""

from __future__ import annotations

from ._polytope import sample_polytope

__all__ = ["sample_polytope"]
