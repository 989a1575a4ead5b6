"""The import of the explorer where its libraries are missing."""

import subprocess
import sys


def test_without_tornado_the_import_says_what_to_install():
    script = "import sys; sys.modules['tornado'] = None; import allegiance.explorer"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("ImportError: the explorer needs tornado: pip install 'allegiance[explorer]'.")
