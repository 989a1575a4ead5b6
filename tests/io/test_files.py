"""Files are written whole or not at all, whoever else writes them and whatever ends the process."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from allegiance.io import TableError, close_locked, lock, refuse_inputs, replacing, write_whole


def test_many_threads_may_write_one_file(tmp_path):
    path = tmp_path / "file"
    errors: list[BaseException] = []

    def write(letter: bytes) -> None:
        try:
            for _ in range(20):
                write_whole(path, letter * 100_000)
                content = path.read_bytes()
                assert len(content) == 100_000
                assert len(set(content)) == 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.slow
def test_a_killed_process_leaves_no_output_and_does_not_disturb_the_next(tmp_path):
    path = tmp_path / "out.parquet"
    script = f"""
        import time
        from allegiance.io import replacing
        with replacing({str(path)!r}) as temporary:
            open(temporary, "w").write("half")
            print("writing", flush=True)
            time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert not path.exists()
    write_whole(path, b"whole", force=False)
    assert path.read_bytes() == b"whole"
    assert all(name.startswith(".allegiance-") for name in set(os.listdir(tmp_path)) - {"out.parquet"})


def test_a_block_may_replace_its_temporary_file(tmp_path):
    with replacing(tmp_path / "a.html") as temporary:
        assert temporary.endswith(".html")
        write_whole(temporary, b"page")
    assert (tmp_path / "a.html").read_bytes() == b"page"
    assert os.listdir(tmp_path) == ["a.html"]


def test_permissions_are_those_of_a_plain_file_or_of_the_one_replaced(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", b"")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
        (tmp_path / "new").chmod(0o444)
        write_whole(tmp_path / "new", b"again")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o444
    finally:
        os.umask(before)


def test_file_and_folder_are_on_the_disk_before_the_block_ends(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(os.fstat(descriptor)), fsync(descriptor)))
    write_whole(tmp_path / "file", b"content")
    assert [stat.S_ISDIR(found.st_mode) for found in synced] == [False, True]
    assert os.path.samestat(synced[0], os.stat(tmp_path / "file"))


def test_a_full_disk_names_the_file_and_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")

    def write() -> None:
        with replacing(path, force=True) as temporary:
            Path(temporary).write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="unchanged") as caught:
        write()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["file"]


def test_an_output_that_is_an_input_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text("x")
    (tmp_path / "link.csv").symlink_to("data.csv")
    for name in ["data.csv", "link.csv"]:
        with pytest.raises(TableError, match="is an input"):
            refuse_inputs(tmp_path / name, [tmp_path / "other.csv", tmp_path / "data.csv"])
    refuse_inputs(tmp_path / "new.csv", [tmp_path / "data.csv"])


def test_a_lock_excludes_others_until_it_is_closed(tmp_path):
    path = tmp_path / "lock"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    if lock(first) is None:
        pytest.skip("files cannot be locked here")
    assert lock(second) is False
    close_locked(first)
    assert lock(second) is True
    close_locked(second)
