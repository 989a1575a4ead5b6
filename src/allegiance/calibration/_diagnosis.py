"""Why trust may be low for another reason than wrong labels."""
from __future__ import annotations
def diagnose(sample, company, new, clusterer): return None
