"""The base of the command line's own kinds of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType
else:

    class ParamType(click.ParamType):
        """click's, with the kind of value in brackets, which click itself takes only since 8.4."""

        def __class_getitem__(cls, value: Any) -> type:
            return cls
