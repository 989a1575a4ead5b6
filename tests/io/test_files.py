"""Files are written whole or not at all, whoever else writes them."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from allegiance.io import TableError
from allegiance.io.files import check_writable, replacing, write_whole


def test_many_threads_may_write_one_file(tmp_path):
    path = tmp_path / "file"

    def write(letter: bytes) -> None:
        for _ in range(20):
            write_whole(path, letter * 100_000)
            content = path.read_bytes()
            assert len(content) == 100_000
            assert len(set(content)) == 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, [b"a", b"b", b"c", b"d"]))
    assert os.listdir(tmp_path) == ["file"]


def test_a_block_may_replace_its_temporary_file(tmp_path):
    with replacing(tmp_path / "a.html") as temporary:
        assert temporary.endswith(".html")
        write_whole(temporary, b"page")
    assert (tmp_path / "a.html").read_bytes() == b"page"
    assert os.listdir(tmp_path) == ["a.html"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
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
    # Windows cannot open folders.
    assert [stat.S_ISDIR(result.st_mode) for result in synced] == [False, True][: 1 if os.name == "nt" else 2]
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


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "loop.csv", "\udcff.csv"])
def test_names_that_cannot_be_written_are_refused_up_front(tmp_path, name):
    """These names passed the check and failed after the work."""
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(OSError, match="cannot be written"):
        check_writable(tmp_path / name, force=True)


def test_remote_files_appear_complete_or_not_at_all():
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    url = "memory://allegiance-test/folder/file"
    with suppress(KeyboardInterrupt), replacing(url) as temporary:
        Path(temporary).write_text("half")
        raise KeyboardInterrupt
    assert not store.exists("/allegiance-test/folder/file")
    write_whole(url, b"all")
    assert store.cat_file("/allegiance-test/folder/file") == b"all"
    with pytest.raises(FileExistsError):
        write_whole(url, b"other", force=False)
    with pytest.raises(FileExistsError), replacing("memory://allegiance-test/late", force=False):
        store.pipe_file("/allegiance-test/late", b"appeared in the meantime")
    with pytest.raises(TableError, match="cannot be written"):
        check_writable("https://example.com/out.csv")
    store.rm("/allegiance-test", recursive=True)
