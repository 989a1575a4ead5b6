"""Options whose choices are the kinds that the library knows: read off its registries, when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ._param_type import ParamType

if TYPE_CHECKING:
    from allegiance._core import Registry


def registry_of(argument: str) -> Registry[Any]:
    """Return the registry of the kinds of an argument of the scorer."""
    if argument in ("influence", "weights"):
        from allegiance import influence

        return influence.INFLUENCES if argument == "influence" else influence.WEIGHTS
    if argument == "domain":
        from allegiance.domains import DOMAINS

        return DOMAINS
    from allegiance.engines import ENGINES

    return ENGINES


class Kind(ParamType[Any]):
    """NAME, or NAME:KEY=VALUE,KEY=VALUE for one with other parameters than its defaults."""

    name = "kind"

    def __init__(self, argument: str) -> None:
        self.argument = argument

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the object that is described.

        Parameters
        ----------
        value, param, ctx
            From click.
        """
        if not isinstance(value, str):
            return value
        try:
            return registry_of(self.argument).parse(value)
        except (TypeError, ValueError) as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin like this.

        Parameters
        ----------
        ctx, param, incomplete
            From click.
        """
        return [CompletionItem(name) for name in registry_of(self.argument) if name.startswith(incomplete)]


class KindOption(click.Option):
    """An option of type :class:`Kind`, whose help lists the kinds and their parameters."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return what ``--help`` shows.

        Parameters
        ----------
        ctx
            From click.
        """
        record = super().get_help_record(ctx)
        if record is None or not isinstance(self.type, Kind):
            return record
        return record[0], f"{record[1]}  Kinds, with their parameters: {registry_of(self.type.argument).described()}."


def kind_option(argument: str, default: str | None, help: str) -> Any:
    """Return an option for an argument of the scorer that takes a kind."""
    return click.option(
        f"--{argument}",
        cls=KindOption,
        type=Kind(argument),
        metavar="NAME[:KEY=VALUE,...]",
        default=default,
        show_default=default is not None,
        help=help,
    )


class Precision(ParamType[Any]):
    """A half-width such as 0.03, or verdict."""

    name = "precision"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Return a number, or "verdict".

        Parameters
        ----------
        value, param, ctx
            From click.
        """
        if value == "verdict":
            return str(value)
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number such as 0.03 nor verdict.", param, ctx)


class Budget(ParamType[Any]):
    """How many labels: 500, or 5%."""

    name = "budget"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return a number, or a share as it is written.

        Parameters
        ----------
        value, param, ctx
            From click.
        """
        text = str(value).strip()
        number = text.removesuffix("%")
        if not (number.replace(".", "", 1).isdigit() and (text != number or number.isdigit())):
            self.fail(f"{value!r} is neither a number of labels, such as 500, nor a share, such as 5%.", param, ctx)
        return text if text != number else int(number)
