"""What is shown of a session: maps, colours, pictures of the map, and what the panels say."""

from ._anatomy import Anatomy
from ._colouring import CHANGED, CLUSTER, FEATURE, TRUST, VERDICT, Colouring, choices, colouring
from ._coordinates import Maps
from ._panels import KEYS, Panels, headline, text_pieces
from ._picture import MAX_DOTS, Density, Dots, Finder, Window, channels, picture, whole

__all__ = [
    "CHANGED",
    "CLUSTER",
    "FEATURE",
    "KEYS",
    "MAX_DOTS",
    "TRUST",
    "VERDICT",
    "Anatomy",
    "Colouring",
    "Density",
    "Dots",
    "Finder",
    "Maps",
    "Panels",
    "Window",
    "channels",
    "choices",
    "colouring",
    "headline",
    "picture",
    "text_pieces",
    "whole",
]
