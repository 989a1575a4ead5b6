"""Writes the reference of the command line from the code: every command, argument and option."""

from __future__ import annotations

from pathlib import Path

import click

from allegiance.cli._program import program


def write_commands(path: Path) -> None:
    """Write one section per command, with its options in the groups of ``--help``."""
    context = click.Context(program, info_name="allegiance")
    sections = ["# Command reference\n\nGenerated from the code. `allegiance COMMAND --help` prints the same text."]
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        sections.append(f"## allegiance {name}\n\n```text\n{command.get_help(inner)}\n```")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(sections) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
