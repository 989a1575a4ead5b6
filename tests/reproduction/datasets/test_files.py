"""Where files are looked for, what is believed of them, and what is kept. No network."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import pytest

from reproduction.datasets import _files
from reproduction.datasets._files import DataFile, cache_folder, obtain

CONTENT = b"some measurements\n" * 50
PACKED = gzip.compress(CONTENT, mtime=0)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FILE = DataFile("things", "things.gz", sha256(PACKED), sha256(CONTENT))
PLAIN = DataFile("things", "other.csv", sha256(b"1,2\n"), sha256(b"1,2\n"))


def never() -> list[bytes]:
    raise AssertionError("tried to download")


def offline() -> list[bytes]:
    raise OSError("no route to host")


def get(file: DataFile = FILE, download=never, download_if_missing=True) -> bytes:
    (content,) = obtain("The things", [file], download, download_if_missing=download_if_missing)
    return content


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """The user's folder of data; the cache is another empty folder."""
    monkeypatch.setattr(_files.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ALLEGIANCE_DATA", str(tmp_path / "own"))
    (tmp_path / "own" / "things").mkdir(parents=True)
    return tmp_path / "own"


class TestLooks:
    @pytest.mark.parametrize("place", ["things/things.gz", "things.gz", "things/things", "things"])
    def test_in_the_users_folder_packed_or_not_nested_or_flat(self, own, place):
        if place == "things":
            (own / "things").rmdir()
        (own / place).write_bytes(PACKED if place.endswith(".gz") else CONTENT)
        assert get() == CONTENT

    def test_in_the_cache_next(self, own):
        folder = cache_folder() / "things"
        folder.mkdir(parents=True)
        (folder / "things.gz").write_bytes(PACKED)
        assert get() == CONTENT

    def test_in_the_users_folder_first(self, own):
        (cache_folder() / "things").mkdir(parents=True)
        (cache_folder() / "things" / "things.gz").write_bytes(b"altered, but never read")
        (own / "things" / "things.gz").write_bytes(PACKED)
        assert get() == CONTENT

    @pytest.mark.parametrize("value", [None, ""])
    def test_only_in_the_cache_if_no_folder_is_named(self, own, monkeypatch, value):
        monkeypatch.chdir(own / "things")
        Path("things.gz").write_bytes(PACKED)
        if value is None:
            monkeypatch.delenv("ALLEGIANCE_DATA")
        else:
            monkeypatch.setenv("ALLEGIANCE_DATA", value)
        with pytest.raises(FileNotFoundError, match="not set now"):
            get(download_if_missing=False)

    @pytest.mark.parametrize(
        ("platform", "variable", "expected"),
        [
            ("linux", "XDG_CACHE_HOME", "base/allegiance"),
            ("linux", None, "home/.cache/allegiance"),
            ("darwin", None, "home/Library/Caches/allegiance"),
            ("win32", "LOCALAPPDATA", "base/allegiance"),
            ("win32", None, "home/AppData/Local/allegiance"),
        ],
    )
    def test_the_cache_is_where_the_platform_has_it(self, tmp_path, monkeypatch, platform, variable, expected):
        monkeypatch.setattr(_files.sys, "platform", platform)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        if variable:
            monkeypatch.setenv(variable, str(tmp_path / "base"))
        assert cache_folder() == tmp_path / expected


class TestBelieves:
    @pytest.mark.parametrize(
        "content",
        [PACKED[:-1], PACKED[: len(PACKED) // 2], b"", PACKED + b"\x00", gzip.compress(CONTENT + b"!", mtime=0)],
        ids=["a byte short", "half", "empty", "a byte more", "other content"],
    )
    def test_no_truncated_or_altered_file(self, own, content):
        path = own / "things" / "things.gz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="truncated or altered") as caught:
            get()
        assert str(path) in str(caught.value)
        assert FILE.sha256 in str(caught.value)
        assert sha256(content) in str(caught.value)
        assert path.read_bytes() == content

    def test_no_altered_file_in_the_cache(self, own):
        get(download=lambda: [CONTENT])
        (cache_folder() / "things" / "things").write_bytes(CONTENT[:-1])
        with pytest.raises(ValueError, match=r"things.*truncated or altered"):
            get()

    def test_no_download_that_is_something_else(self, own):
        with pytest.raises(ValueError, match="downloaded as things is truncated or altered"):
            get(download=lambda: [b"<html>"])
        assert not cache_folder().exists()


class TestKeeps:
    def test_what_was_downloaded_and_nothing_else(self, own):
        assert get(download=lambda: [CONTENT]) == CONTENT
        assert [path.name for path in cache_folder().rglob("*") if path.is_file()] == ["things"]
        assert get() == CONTENT

    def test_nothing_if_one_of_two_files_is_wrong(self, own):
        with pytest.raises(ValueError, match=r"other\.csv"):
            obtain("Two things", [FILE, PLAIN], lambda: [CONTENT, b"1,2,3\n"], download_if_missing=True)
        assert not cache_folder().exists()

    def test_nothing_half_written(self, own, monkeypatch):
        def no_space(*_: object) -> None:
            raise OSError("no space left on device")

        monkeypatch.setattr(os, "replace", no_space)
        with pytest.warns(UserWarning, match="no space left.*downloaded again"):
            assert get(download=lambda: [CONTENT]) == CONTENT
        assert list((cache_folder() / "things").iterdir()) == []

    def test_going_on_where_there_can_be_no_cache(self, own, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("no folder")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        with pytest.warns(UserWarning, match="could not be kept"):
            assert get(download=lambda: [CONTENT]) == CONTENT


class TestMissing:
    def test_says_where_to_put_which_file(self, own):
        with pytest.raises(FileNotFoundError) as caught:
            obtain("Two things", [FILE, PLAIN], offline, download_if_missing=True)
        message = str(caught.value)
        assert "Two things" in message
        assert "no route to host" in message
        assert str(own) in message
        assert str(cache_folder() / "things") in message
        for file in (FILE, PLAIN):
            assert f"{file.name}  (SHA-256 {file.sha256})" in message

    def test_one_of_two_files_is_not_enough(self, own):
        (own / "things" / "things.gz").write_bytes(PACKED)
        with pytest.raises(FileNotFoundError, match=r"other\.csv"):
            obtain("Two things", [FILE, PLAIN], offline, download_if_missing=True)

    @pytest.mark.parametrize("error", [OSError("x"), ValueError("x"), ImportError("x"), TimeoutError("x")])
    def test_any_failure_of_a_download_is_explained(self, own, error):
        def fail() -> list[bytes]:
            raise error

        with pytest.raises(FileNotFoundError, match=rf"could not be downloaded \({type(error).__name__}: x\)"):
            get(download=fail)

    def test_asks_nobody_if_told_so(self, own):
        with pytest.raises(FileNotFoundError, match="The things was not found"):
            get(download_if_missing=False)
