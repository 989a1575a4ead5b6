"""The compiler after a fork."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from numba.core.compiler_lock import global_compiler_lock

import allegiance._kernels.jit  # noqa: F401


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_while_a_thread_compiles_can_compile():
    compiling = threading.Event()

    def compile_something() -> None:
        with global_compiler_lock:
            compiling.set()
            threading.Event().wait(0.2)

    thread = threading.Thread(target=compile_something)
    thread.start()
    compiling.wait(30)
    child = os.fork()
    if child == 0:
        signal.alarm(5)  # ends the child if it hangs
        with global_compiler_lock:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    thread.join(30)
    assert os.waitstatus_to_exitcode(status) == 0
