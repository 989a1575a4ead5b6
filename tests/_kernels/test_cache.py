"""The cache of compiled kernels: absent, read-only or damaged, it costs time and never the result."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allegiance._kernels import jit as _cache
from allegiance._kernels.jit import jit

SOURCE = "def double(x):\n    return 2 * x\n"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Return what gives a kernel that a new process would get: nothing compiled yet, the cache in tmp_path."""
    monkeypatch.setattr(_cache, "_noted", False)
    source = tmp_path / "kernel.py"
    source.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("kernel", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kernel", module)  # where numba looks for it when it reads the cache
    spec.loader.exec_module(module)
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    return lambda: jit()(module.double)


def compiled(kernel: Any) -> bool:
    """Call a kernel, and tell whether it had to be compiled."""
    assert kernel(21) == 42
    return not kernel.stats.cache_hits


def test_a_kernel_is_compiled_once(kernel):
    assert compiled(kernel())
    assert not compiled(kernel())


@pytest.mark.parametrize("size", [0.0, 0.01, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_truncated_files_are_made_anew(kernel, tmp_path, ending, size):
    """Once: UnpicklingError or EOFError from every call until the files were removed by hand."""
    assert compiled(kernel())
    (file,) = tmp_path.rglob(f"*.{ending}")
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * size)])
    assert compiled(kernel())
    assert not compiled(kernel())


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_files_of_zeros_are_made_anew(kernel, tmp_path, ending):
    """What a file system may leave of a file after the power failed."""
    assert compiled(kernel())
    (file,) = tmp_path.rglob(f"*.{ending}")
    file.write_bytes(bytes(file.stat().st_size))
    assert compiled(kernel())
    assert not compiled(kernel())


def test_the_folder_is_that_of_the_kernels():
    from allegiance._kernels.counting import project_rows

    assert _cache.cache_folder() == project_rows._cache.cache_path


def test_without_a_folder_to_write_to_kernels_are_compiled_with_one_note(kernel, tmp_path, monkeypatch):
    """A file where the folder should be stops the super-user too, whom permissions do not."""
    (tmp_path / "__pycache__").write_text("")
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "kernel.py"))
    with pytest.warns(RuntimeWarning, match=r"Compiled kernels are not kept: neither .* NUMBA_CACHE_DIR"):
        first = kernel()
    assert compiled(first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(kernel())


def test_a_cache_that_cannot_be_written_any_more_costs_the_result_nothing(kernel, tmp_path):
    waiting = kernel()
    shutil.rmtree(tmp_path / "__pycache__")
    (tmp_path / "__pycache__").write_text("")
    with pytest.warns(RuntimeWarning, match=r"not kept: .*__pycache__ cannot be written to"):
        assert compiled(waiting)


def test_compiling_is_remarked_on_once(kernel, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(_cache, "_remarked", False)
    monkeypatch.setattr(_cache, "remark", lambda text: said.append(text) or True)
    double = kernel()
    assert compiled(double)
    assert double(2.5) == 5.0
    assert sum(double.stats.cache_misses.values()) == 2
    assert len(said) == 1
