"""How the tests call the command: in this process, and as a user does."""

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from allegiance.cli._program import program

#: The command that was installed with the package.
INSTALLED = Path(sys.executable).with_name("allegiance")


def call(*words: object, stdin: str | bytes | None = None, code: int = 0) -> Result:
    """Run the command in this process, and check its exit code."""
    result = CliRunner().invoke(program, [str(word) for word in words], input=stdin)
    assert result.exit_code == code, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result


def start(*words: object, **settings: object) -> subprocess.Popen[bytes]:
    """Start the installed command."""
    pipe = subprocess.PIPE
    return subprocess.Popen([INSTALLED, *map(str, words)], stdin=pipe, stdout=pipe, stderr=pipe, **settings)  # type: ignore[call-overload]
