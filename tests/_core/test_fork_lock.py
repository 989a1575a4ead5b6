"""Locks after a fork: free in the child, whoever held them in the parent."""

from __future__ import annotations

import os
import pickle
import threading

import pytest

from allegiance._core import ForkLock


def test_it_excludes_other_threads():
    lock, order = ForkLock(), []

    def wait() -> None:
        with lock:
            order.append("second")

    with lock:
        other = threading.Thread(target=wait)
        other.start()
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_can_take_what_another_thread_holds():
    lock, taken, done = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(30)
    child = os.fork()
    if child == 0:
        # Where the lock is that of the parent, the child would hang: the alarm ends it.
        import signal

        signal.alarm(5)
        with lock:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    holder.join(30)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_pickle_holds_a_free_lock():
    lock = ForkLock()
    with lock:
        copy = pickle.loads(pickle.dumps(lock))
    with copy:
        pass


def test_it_tells_whether_it_is_taken():
    lock = ForkLock()
    assert not lock.taken
    with lock:
        assert lock.taken
    assert not lock.taken
