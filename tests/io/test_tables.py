"""Tables of every format, read whole, in batches and in parts."""

import gc
import gzip
import io
import os
import subprocess
import sys
from contextlib import suppress
from datetime import date, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from threading import Thread

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allegiance.io import TableError, propose
from allegiance.io.batches import Rows
from allegiance.io.sinks import write_table
from allegiance.io.tables import BATCH_ROWS, open_table

TABLE = pa.table(
    {
        "id": [f"{number:03d}" for number in range(100)],
        "x": np.linspace(-1.0, 1.0, 100),
        "count": np.arange(100),
        "kind": ["abc"[number % 3] for number in range(100)],
    }
)


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def csv_bytes(table):
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer)
    return buffer.getvalue()


WRITERS = {
    "csv": pa.csv.write_csv,
    "csv.gz": lambda table, path: path.write_bytes(gzip.compress(csv_bytes(table))),
    "tsv": lambda table, path: pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t")),
    "parquet": lambda table, path: pa.parquet.write_table(table, path, row_group_size=13),
    "feather": lambda table, path: pa.feather.write_feather(table, path, chunksize=17),
    "arrow": write_stream,
    "jsonl": lambda table, path: write_table(path, table),
    "xlsx": lambda table, path: write_table(path, table.set_column(2, "count", table["count"].cast(pa.float64()))),
}


def values(batches):
    return pa.Table.from_batches(list(batches)).to_pylist()


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_table_in_batches_of_any_size(tmp_path, ending):
    if ending == "xlsx":
        pytest.importorskip("python_calamine")
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](TABLE, path)
    table = open_table(path)
    assert table.columns == TABLE.column_names
    assert table.read().to_pylist() == TABLE.to_pylist()
    assert table.read().schema == table.schema
    assert (table.n_rows, table.files) == (100, (str(path),))
    batches = list(table.batches(["count", "id"], rows=30))
    assert [batch.num_rows for batch in batches] == [30, 30, 30, 10]
    assert batches[0].schema.names == ["count", "id"]
    assert values(batches) == TABLE.select(["count", "id"]).to_pylist()
    assert values(table.batches(["count"], rows=30, start=47)) == TABLE.select(["count"])[47:].to_pylist()
    assert list(table.batches(start=100)) == []


def test_frames_of_any_library_are_tables():
    polars = pytest.importorskip("polars")
    for frame in (TABLE, TABLE.to_batches()[0], TABLE.to_pandas(), polars.from_arrow(TABLE)):
        assert open_table(frame).read().to_pylist() == TABLE.to_pylist()
    mixed = pd.DataFrame({"a": [1, "x", pd.NA], 7: [1.0, 2.0, np.nan]})
    assert open_table(mixed).read().to_pydict() == {"a": ["1", "x", None], "7": [1.0, 2.0, None]}
    with pytest.raises(TableError, match="got int"):
        open_table(7)


@given(groups=st.lists(st.integers(0, 9), min_size=1, max_size=8), rows=st.integers(1, 12), start=st.integers(0, 40))
def test_regrouping_keeps_every_row_once_and_in_order(tmp_path_factory, groups, rows, start):
    path = tmp_path_factory.mktemp("regrouping") / "table.arrow"
    ends = np.cumsum(groups).tolist()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, pa.schema({"count": pa.int64()})) as writer:
        for size, end in zip(groups, ends, strict=True):
            writer.write_batch(pa.record_batch({"count": pa.array(range(end - size, end), pa.int64())}))
    batches = list(open_table(path).batches(rows=rows, start=start))
    assert [value for batch in batches for value in batch["count"].to_pylist()] == list(range(start, ends[-1]))
    assert all(batch.num_rows == rows for batch in batches[:-1])


def test_text_is_typed_or_as_it_was_written(tmp_path):
    (tmp_path / "table.csv").write_text("id,n,x,when,zip\n1, 7,1.50,31.1.2024,007\n2,8,,28.2.2024,010\n3,9,2.5,,011\n")
    table = open_table(tmp_path / "table.csv")
    assert [str(kind) for kind in table.schema.types] == ["int64", "int64", "double", "timestamp[us]", "string"]
    assert table.read()["x"].to_pylist() == [1.5, None, 2.5]
    written = table.read(typed=False)
    assert set(written.schema.types) == {pa.string()}
    assert written.to_pylist()[0] == {"id": "1", "n": " 7", "x": "1.50", "when": "31.1.2024", "zip": "007"}
    assert table.typed(next(table.batches(["when", "zip"], typed=False))).schema.types[0] == pa.timestamp("us")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["1", "01"], ["1", "01"]),
        (["10000000000000000001", "10000000000000000002"], ["10000000000000000001", "10000000000000000002"]),
        (["c0", "-1"], ["c0", "-1"]),
        (["1", " -1"], [1, -1]),
        (["1", ""], [1, None]),
        (["1.0", "-1"], [1, -1]),
        (["0", "1", "unknown"], ["0", "1", "unknown"]),
        (["true", "True"], ["true", "True"]),
    ],
)
def test_labels_stay_apart(tmp_path, written, read):
    rows = [f"{i},{value}" for i, value in enumerate(written * 3)]
    (tmp_path / "table.csv").write_text("\n".join(["x,kind", *rows]))
    assert open_table(tmp_path / "table.csv").read(["kind"])["kind"].to_pylist() == read * 3


def test_the_type_of_a_column_fits_all_its_rows(tmp_path, monkeypatch):
    """Decimals, words and dates that come late are found in the one pass there is."""
    monkeypatch.setattr("allegiance.io.text._BLOCK", 4096)
    for name in ("_BATCH_CELLS", "_PROFILE_CELLS"):
        monkeypatch.setattr(f"allegiance.io.tables.{name}", 1)
    lines = ["decimal,late,code,empty,date", *["1,2,3,,1/2/2024"] * 600, "2.5,x,03,5,1/13/2024"]
    (tmp_path / "late.csv").write_text("\n".join(lines))
    table, opened = open_table(tmp_path / "late.csv"), []
    open_bytes = table._parts[0]._open
    monkeypatch.setattr(table._parts[0], "_open", lambda: (opened.append(1), open_bytes())[1])
    assert [str(kind) for kind in table.schema.types] == ["double", "string", "string", "int64", "timestamp[us]"]
    assert len(opened) == 1
    *_, last = table.batches()
    assert len(opened) == 2
    assert list(last.to_pylist()[-1].values()) == [2.5, "x", "03", 5, datetime(2024, 1, 13)]


def test_the_profile_does_not_depend_on_blocks_or_files(tmp_path, monkeypatch, rng):
    rows = [f"{x!r},{i * 7 % 9},{'ab'[i % 2]}" for i, x in enumerate(rng.normal(size=900).tolist())]
    (tmp_path / "one.csv").write_text("\n".join(["a,b,c", *rows]))
    whole = open_table(tmp_path / "one.csv").profile()
    for i in range(3):
        (tmp_path / f"part{i}.csv").write_text("\n".join(["a,b,c", *rows[300 * i : 300 * (i + 1)]]))
    monkeypatch.setattr("allegiance.io.text._BLOCK", 4096)
    # By what they show: statistics of texts are NaN.
    assert repr(open_table(tmp_path / "part*.csv").profile()) == repr(whole)


def test_statistics_are_those_of_numpy(tmp_path, rng):
    x = rng.normal(1e6, 1.0, 3000)
    x[::7] = np.nan
    (tmp_path / "table.csv").write_text("\n".join(["x,y", *(f"{'' if a != a else repr(float(a))},1" for a in x)]))
    profile = open_table(tmp_path / "table.csv").profile().columns["x"]
    assert profile.n_missing == np.isnan(x).sum()
    expected = [np.nanmean(x), np.nanstd(x), np.nanmin(x), np.nanmax(x), np.nanmedian(x)]
    np.testing.assert_allclose(
        [profile.mean, profile.std, profile.min, profile.max, profile.median], expected, rtol=1e-14
    )


def test_medians_of_long_tables_state_their_error(monkeypatch, rng):
    monkeypatch.setattr("allegiance.io.profile._WHOLE_CELLS", 4096)
    monkeypatch.setattr("allegiance.io.profile._FINAL_ROWS", 1000)
    x = np.sort(rng.exponential(size=200_000))
    profile = open_table(pa.table({"x": x, "y": x})).profile().columns["x"]
    assert abs(np.searchsorted(x, profile.median) / x.size - 0.5) < profile.median_error
    assert 0.01 < profile.median_error < 0.05


def test_samples_of_long_rows_are_bounded(monkeypatch):
    """Dictionaries, which no choice of rows makes smaller, and texts that take more than a sample may."""
    monkeypatch.setattr("allegiance.io.profile._SAMPLE_BYTES", 10_000)
    words = pa.array([f"{'word' * 20} {i}" for i in range(400)]).dictionary_encode()
    table = open_table(pa.table({"x": np.arange(400.0), "words": words, "lists": [[1]] * 400}))
    assert abs(table.profile().columns["x"].median - 200) < 50
    assert 100 < table.sample(400, ["words", "x"]).num_rows <= 256


def test_arrays_have_numbered_columns(tmp_path, rng):
    X = rng.normal(size=(50, 3)).astype(np.float32)
    np.save(tmp_path / "points.npy", X)
    table = open_table(tmp_path / "points.npy")
    assert (table.columns, table.n_rows, table.has_names) == (["x0", "x1", "x2"], 50, False)
    assert table.schema.types == [pa.float32()] * 3
    np.testing.assert_array_equal(np.column_stack([table.read()[name] for name in table.columns]), X)
    np.save(tmp_path / "names.npy", np.array(["a", "b"]))
    assert open_table(tmp_path / "names.npy").read().to_pylist() == [{"x0": "a"}, {"x0": "b"}]


def test_several_files_are_read_as_one(tmp_path):
    (tmp_path / "part-1.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "part-2.csv").write_text("b;a\nz;2.5\n")
    table = open_table(tmp_path / "part-*.csv")
    assert table.read().to_pylist() == [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}, {"a": 2.5, "b": "z"}]
    assert values(table.batches(["a"], rows=2, start=1)) == [{"a": 2.0}, {"a": 2.5}]
    # Where the first file ends is known once it was read, also if no profile did so.
    assert values(open_table(tmp_path / "part-*.csv").batches(["a"], start=2, typed=False)) == [{"a": "2.5"}]
    both = open_table([tmp_path / "part-2.csv", str(tmp_path / "part-1.csv")])
    assert [row["a"] for row in both.read().to_pylist()] == [2.5, 1.0, 2.0]
    write_table(tmp_path / "whole.parquet", pa.table({"a": [1, 2], "b": ["x", "y"]}))
    write_table(tmp_path / "text.parquet", pa.table({"a": ["1", "n"], "b": ["x", "y"]}))
    assert open_table(tmp_path / "*.parquet").read()["a"].to_pylist() == ["1", "n", "1", "2"]
    write_table(tmp_path / "list.parquet", pa.table({"a": [[1], [2]], "b": ["x", "y"]}))
    with pytest.raises(TableError, match="'a' has different types"):
        open_table([tmp_path / "whole.parquet", tmp_path / "list.parquet"])
    (tmp_path / "part-3.csv").write_text("a,c\n1,2\n")
    # Most files have b, so that it is missing from one; c, which only one has, is ignored.
    files = open_table(tmp_path / "part-*.csv")
    assert (files.columns, files.read()["a"].to_pylist()) == (["a"], [1.0, 2.0, 2.5, 1.0])
    assert any("Ignored 'c'" in finding.text for finding in files.findings)
    with pytest.raises(TableError, match=r"part-3.csv has no column 'b', but other files have"):
        propose(files)
    assert propose(files, drop="b").used == ("a",)
    with pytest.raises(TableError, match="no file matches"):
        open_table(tmp_path / "*.feather")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_folders_name_columns(tmp_path, ending):
    for year, count in (("2023", 3), ("2024", 2)):
        folder = tmp_path / "data" / f"year={year}" / "land=%C3%96"
        folder.mkdir(parents=True)
        write_table(folder / f"part.{ending}", pa.table({"x": [float(i) for i in range(count)]}))
    (tmp_path / "data" / "_SUCCESS").write_text("")
    for spec in (tmp_path / "data", tmp_path / "data" / "year=*" / "*" / f"*.{ending}", f"file://{tmp_path}/data"):
        table = open_table(spec)
        assert table.read().to_pydict() == {"x": [0, 1, 2, 0, 1], "year": [2023] * 3 + [2024] * 2, "land": ["Ö"] * 5}
        assert values(table.batches(["year"], start=2)) == [{"year": 2023}, {"year": 2024}, {"year": 2024}]
    files = sorted((tmp_path / "data").rglob(f"*.{ending}"))
    assert open_table(files).columns == ["x", "year", "land"]
    assert open_table(files[0]).columns == ["x"]
    (tmp_path / "data" / "notes.xlsx").write_text("")
    with pytest.raises(TableError, match="several formats"):
        open_table(tmp_path / "data")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="contains no table"):
        open_table(tmp_path / "empty")


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "jsonl"])
def test_urls_are_read_through_fsspec(ending, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    path = tmp_path / f"table.{ending}"
    write_table(path, TABLE)
    with fsspec.open(f"memory://folder/table.{ending}", "wb") as file:
        file.write(path.read_bytes())
    for url in (f"memory://folder/table.{ending}", f"file://{path}", f"memory://folder/*.{ending}"):
        assert open_table(url).read().to_pylist() == TABLE.to_pylist()
    with pytest.raises(TableError, match="does not exist"):
        open_table("memory://folder/none.csv")


def test_the_fingerprint_of_a_remote_file_changes_with_it():
    """Once a stream resumed whatever had become of a file on a server."""
    fsspec = pytest.importorskip("fsspec")
    fingerprints = []
    for text in (b"a,b\n1,2\n", b"a,b\n1,2\n3,4\n"):
        with fsspec.open("memory://changing/table.csv", "wb") as file:
            file.write(text)
        fingerprints.append([open_table("memory://changing/table.csv").fingerprint() for _ in range(2)])
    assert fingerprints[0][0] == fingerprints[0][1] != fingerprints[1][0]


@pytest.mark.parametrize("place", ["memory://far/table.csv", "memory://far/*.csv"])
def test_a_server_that_cannot_be_reached_is_named(monkeypatch, place):
    """Once the error of a driver counted as a defect of ours: each has classes of its own."""
    fsspec = pytest.importorskip("fsspec")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("Unable to locate credentials")

    for name in ("isdir", "glob"):
        monkeypatch.setattr(fsspec.get_filesystem_class("memory"), name, fail)
    with pytest.raises(TableError, match=r"cannot be reached\. Unable to locate credentials"):
        open_table(place)


@pytest.mark.parametrize(
    ("scheme", "library"), [("nosuchthing", "nosuchthing"), ("https", "aiohttp"), ("s3", "s3fs"), ("gs", "gcsfs")]
)
def test_a_driver_that_is_not_installed_is_named(scheme, library):
    if find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    with pytest.raises(TableError, match=f"driver for {scheme}://.*{library}|pip install {library}"):
        open_table(f"{scheme}://bucket/table.csv")


def test_a_table_on_a_web_server(tmp_path):
    pytest.importorskip("aiohttp")
    (tmp_path / "table.csv").write_bytes(csv_bytes(TABLE))
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert open_table(f"{url}/table.csv").read().to_pylist() == TABLE.to_pylist()
        with pytest.raises(TableError, match="does not exist"):
            open_table(f"{url}/none.csv")
        server.shutdown()


def test_batches_of_wide_tables_are_small(monkeypatch):
    """Once 65,536 rows of 10,000 columns were a batch of 5 GB."""
    for name in ("_BATCH_CELLS", "_PROFILE_CELLS"):
        monkeypatch.setattr(f"allegiance.io.tables.{name}", 50_000)
    table = open_table(pa.table({f"x{i}": np.arange(1000.0) for i in range(100)}))
    assert [batch.num_rows for batch in table.batches()] == [500, 500]
    assert [batch.num_rows for batch in table.batches(["x7"])] == [1000]
    plan = propose(table, one_hot="x0", features="x1")
    assert max(part.X.size for part in Rows(table, plan, None).batches(BATCH_ROWS)) <= 256 * len(plan.names)


def test_no_thread_keeps_a_file_that_was_read(tmp_path):
    """One that let it go while Python exited aborted the process after its work."""
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 1000)
    table = open_table(tmp_path / "t.csv")
    table.read()
    next(iter(table.batches(rows=10))).to_pylist()
    gc.collect()
    ours = [one for one in gc.get_objects() if type(one).__module__ == "allegiance.io.text"]
    assert not [one for one in ours if hasattr(one, "read")]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather", "npy", "xlsx", "jsonl"])
def test_damaged_files_are_refused_or_read(tmp_path, rng, ending):
    """Whatever bytes a file has, what comes is a table or a TableError."""
    path = tmp_path / f"table.{ending}"
    if ending == "npy":
        np.save(path, np.arange(60.0).reshape(20, 3))
    else:
        write_table(path, TABLE)
    whole = path.read_bytes()
    for attempt in range(25):
        content = bytearray(whole[: rng.integers(1, len(whole))] if attempt % 5 == 0 else whole)
        for place in rng.integers(0, len(content), 4):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        with suppress(TableError):
            table = open_table(path)
            table.profile()
            table.read()


@pytest.mark.filterwarnings("ignore:The '.*' option is deprecated:DeprecationWarning")  # anndata asks pandas for it
def test_observations_of_single_cells(tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = pd.DataFrame({"leiden": list("aabb"), "n": [1, 2, 3, 4]}, index=[f"c{i}" for i in range(4)])
    genes = pd.DataFrame(index=["g1", "g2"])
    data = anndata.AnnData(np.arange(8.0).reshape(4, 2), obs=cells, var=genes)
    data.write_h5ad(tmp_path / "cells.h5ad")
    plan = propose(tmp_path / "cells.h5ad", labels="leiden")
    assert (plan.ids, plan.names, plan.labels) == (("cell",), ("g1", "g2"), ("leiden",))
    data.obsm["X_pca"] = np.arange(12.0).reshape(4, 3) % 5
    data.write_h5ad(tmp_path / "cells.h5ad")
    assert propose(tmp_path / "cells.h5ad").names == ("PC1", "PC2", "PC3")


def test_sheets_of_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active.append(["see the other sheet"])
    sheet = book.create_sheet("customers")
    for row in [
        ["Customers 2024"],
        ["id", "visits", "spent", "since", "plan", "active", "mixed", None],
        ["1", 3, "$1,200.50", date(1970, 1, 2), "basic", True, 1, None],
        ["2", None, "$7", datetime(1970, 1, 3, 12), "pro", False, "x", None],
        ["3", 5, "$8", None, "pro", None, 2.5, None],
    ]:
        sheet.append(row)
    book.create_sheet("nothing")
    path = tmp_path / "book.xlsx"
    book.save(path)
    table = open_table(path)
    assert table.read(["id", "visits", "spent", "since", "active", "mixed"]).to_pydict() == {
        "id": [1, 2, 3],
        "visits": [3, None, 5],
        "spent": [1200.5, 7, 8],
        "since": [datetime(1970, 1, 2), datetime(1970, 1, 3, 12), None],
        "active": [True, False, None],
        "mixed": ["1", "x", "2.5"],
    }
    for word in ("'customers'", "'notes', 'nothing'", "Customers 2024"):
        assert word in " ".join(map(str, table.findings))
    assert open_table(path, sheet="notes").columns == ["see the other sheet"]
    with pytest.raises(TableError, match=r"`sep=` does not apply to .*book.xlsx: its format is xlsx"):
        open_table(path, sep=";")
    for name, message in (("othr", r"'othr'.*'notes', 'customers', 'nothing'"), ("nothing", "'nothing' is empty")):
        with pytest.raises(TableError, match=message):
            open_table(path, sheet=name)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'"a, b","c\nd"\n"x, ""y""","two\nlines"\n', {"a, b": 'x, "y"', "c\nd": "two\nlines"}),
        (b"\n\na,b\n1,2\n\n", {"a": 1, "b": 2}),
        (b"a,b\n1,", {"a": 1, "b": None}),
        (b'a,b\n1,5" pipe\n', {"a": 1, "b": '5" pipe'}),
    ],
    ids=["quotes", "blank-lines", "no-newline", "inch"],
)
def test_text_of_one_row(tmp_path, content, expected):
    (tmp_path / "table.csv").write_bytes(content)
    assert open_table(tmp_path / "table.csv").read().to_pylist() == [expected]


def saved(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("wrong.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("wrong.arrow", b"a,b\n1,2\n", "not an Arrow file"),
        ("wrong.npy", b"a,b\n1,2\n", "not a NumPy file"),
        ("zip.npy", b"PK\x05\x06" + bytes(18), "not a NumPy file"),
        ("wrong.xlsx", b"a,b\n1,2\n", "not a workbook"),
        ("wrong.json", b"a,b\n1,2\n", "JSON object per line"),
        ("wrong.jsonl", b"a,b\n1,2\n", "JSON object per line"),
        ("table.sas", b"a", "format='csv'"),
        ("latin.csv", b"a,b\n1,\x81\n" * 9, "cp1252"),
        ("cube.npy", saved(np.ones((2, 2, 2))), "shape"),
        ("complex.npy", saved(np.array([[1 + 2j]])), "complex"),
        ("pickle.npy", saved(np.array([{}], dtype=object)), "not a NumPy"),
        ("none.csv", None, "does not exist"),
    ],
)
def test_files_that_cannot_be_read_raise_errors_with_the_reason(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        open_table(tmp_path / name).read()
    assert name in str(caught.value)


def test_missing_and_forbidden_sources_and_columns_are_named(tmp_path, monkeypatch):
    with pytest.raises(TableError, match="name at least one file"):
        open_table([])
    (tmp_path / "table.csv").write_text("Weight,height\n1,2\n")
    table = open_table(tmp_path / "table.csv")
    with pytest.raises(TableError, match=r"'wieght'.*'Weight' or 'height'\?"):
        table.read(["wieght"])
    with pytest.raises(TableError, match=r"'zzz'.*'Weight', 'height'"):
        table.check_columns(["zzz"])
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(TableError, match="permission denied"):
        open_table(tmp_path / "table.csv")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_can_be_read_more_than_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('a,b\\n1,2\\n3,4\\n')"]) as process:
        table = open_table(pipe)
        assert process.wait() == 0
    assert [batch["b"].to_pylist() for batch in table.batches(rows=1)] == [[2], [4]]


def test_standard_input_is_kept(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2,5\n3;4,5\n")))
    table = open_table("-")
    assert table.read().to_pydict() == {"a": [1, 3], "b": [2.5, 4.5]}
    assert table.files == ()


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_views_and_runs_are_read_as_plain_columns(tmp_path, ending):
    views = {
        "text": pa.array(["a", None, "c"], pa.string_view()),
        "bytes": pa.array([b"a", None, b"c"], pa.binary_view()),
        "runs": pa.RunEndEncodedArray.from_arrays([2, 3], ["x", "y"]),
    }
    write_table(tmp_path / f"table.{ending}", pa.table(views))
    table = open_table(tmp_path / f"table.{ending}")
    columns = table.read(["bytes", "text"])
    assert columns.schema.types == [pa.binary(), pa.string()]
    assert columns.take([2, 1]).to_pylist() == [{"bytes": b"c", "text": "c"}, {"bytes": None, "text": None}]
    assert table.read(["runs"])["runs"].to_pylist() == ["x", "x", "y"]


@pytest.mark.parametrize("block", [8 << 20, 4096], ids=["one block", "many blocks"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({500: '500,3,"b'}, "opened in line 502 is not closed"),
        ({500: '500,"3,b'}, "opened in line 502 is not closed"),
        ({500: '500,3,"b', 800: '800,2,"c"'}, "opened in line 502 is closed in line 802, in the middle of a value"),
        ({500: '500,3,"b', 800: '800,2,c"'}, "closed in line 802, and the lines between look like rows"),
        ({500: "500,3"}, "line 502: 2 columns"),
        ({500: '500,3,"b\nc ""d"", e"', 600: '600,5,5" nail', 999: '999,5,"last\n"'}, None),
    ],
)
def test_quoted_values_are_read_and_rows_that_would_be_lost_are_named(tmp_path, monkeypatch, block, changes, message):
    monkeypatch.setattr("allegiance.io.text._BLOCK", block)
    rows = [changes.get(i, f"{i},{i % 7},{'abc'[i % 3]}") for i in range(1000)]
    (tmp_path / "table.csv").write_text("\n".join(["x,y,kind", *rows]) + "\n")
    table = open_table(tmp_path / "table.csv")
    if message is None:
        kinds = table.read()["kind"].to_pylist()
        assert (len(kinds), kinds[500], kinds[600], kinds[999]) == (1000, 'b\nc "d", e', '5" nail', "last\n")
    else:
        with pytest.raises(TableError, match=message):
            table.profile()


@pytest.mark.parametrize("columns", [200, 130])
def test_headers_of_any_length(tmp_path, monkeypatch, columns):
    """The 128th name of seven characters ends exactly where the first block does: cut there, nothing looks wrong."""
    monkeypatch.setattr("allegiance.io.text._HEAD", 1024)
    names = [f"n{i:06d}" for i in range(columns)]
    (tmp_path / "wide.csv").write_text(f"{';'.join(names)}\n{';'.join('1' for _ in names)}\n")
    table = open_table(tmp_path / "wide.csv")
    assert table.columns == names
    assert table.read(typed=False).num_columns == columns
