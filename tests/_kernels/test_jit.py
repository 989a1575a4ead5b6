"""The cache of compiled kernels."""

import importlib.util
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import allegiance._kernels.jit

MODULE = sys.modules["allegiance._kernels.jit"]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Return what gives a kernel as a new process would get it: nothing compiled yet, the cache in tmp_path."""
    MODULE._warn_once.cache_clear()
    monkeypatch.setattr(MODULE, "CACHE", True)
    (tmp_path / "kernel.py").write_text("def double(x):\n    return 2 * x\n")
    spec = importlib.util.spec_from_file_location("allegiance._kernels.kernel", tmp_path / "kernel.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "allegiance._kernels.kernel", module)  # where numba looks for it
    spec.loader.exec_module(module)
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    return lambda: allegiance._kernels.jit.jit()(module.double)


def compiled(kernel: Any) -> bool:
    """Call a kernel, and tell whether it had to be compiled."""
    assert kernel(21) == 42
    return not kernel.stats.cache_hits


def test_a_kernel_is_compiled_once_unless_a_file_of_the_folder_changes(kernel, monkeypatch):
    assert compiled(kernel())
    assert not compiled(kernel())
    monkeypatch.setattr(MODULE, "_SOURCE_STAMP", (("affine_block.py", 1.0, 2),))
    assert compiled(kernel())


def test_without_a_folder_to_write_to_kernels_are_compiled_with_one_warning(kernel, tmp_path, monkeypatch):
    """A file where the folder should be stops the super-user too, whom permissions do not."""
    (tmp_path / "__pycache__").write_text("")
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "kernel.py"))
    with pytest.warns(RuntimeWarning, match="not cached.*NUMBA_CACHE_DIR"):
        first = kernel()
    assert compiled(first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(kernel())
