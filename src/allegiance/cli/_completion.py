"""``allegiance completion``: let the shell finish words."""

from __future__ import annotations

import click

EPILOG = """\b
Examples:
  allegiance completion bash >> ~/.bashrc
  allegiance completion zsh >> ~/.zshrc
  allegiance completion fish > ~/.config/fish/completions/allegiance.fish
"""


@click.command(epilog=EPILOG, short_help="Print a completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that teaches SHELL to complete commands and options."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "allegiance", "_ALLEGIANCE_COMPLETE").source())
