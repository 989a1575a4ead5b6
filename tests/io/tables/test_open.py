"""Tables of every format, read whole, in batches and in parts."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allegiance.io._old_tables import PreparedSource, TableError, open_sink, open_source, plan_features

TABLE = pa.table(
    {
        "id": [f"{number:03d}" for number in range(100)],
        "x": np.linspace(-1.0, 1.0, 100),
        "count": np.arange(100),
        "flag": [number % 3 == 0 for number in range(100)],
    }
)


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


WRITERS = {
    "csv": pa.csv.write_csv,
    "csv.gz": lambda table, path: path.write_bytes(gzip.compress(csv_bytes(table))),
    "tsv": lambda table, path: pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t")),
    "parquet": lambda table, path: pa.parquet.write_table(table, path, row_group_size=13),
    "feather": lambda table, path: pa.feather.write_feather(table, path, chunksize=17),
    "arrow": write_stream,
}


def csv_bytes(table):
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer)
    return buffer.getvalue()


def values(batches):
    return pa.Table.from_batches(list(batches)).to_pylist()


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_table(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](TABLE, path)
    source = open_source(path, text=["id"])
    assert source.names == TABLE.column_names
    assert source.read().to_pylist() == TABLE.to_pylist()
    assert source.n_rows == 100
    assert source.files == (str(path),)


@pytest.mark.parametrize("ending", WRITERS)
def test_batches_end_where_they_should_whatever_the_layout(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](TABLE, path)
    source = open_source(path, text=["id"])
    batches = list(source.batches(rows=30, columns=["count", "id"]))
    assert [batch.num_rows for batch in batches] == [30, 30, 30, 10]
    assert batches[0].schema.names == ["count", "id"]
    assert values(batches) == TABLE.select(["count", "id"]).to_pylist()
    assert values(source.batches(rows=30, columns=["count"], start=47)) == TABLE.select(["count"])[47:].to_pylist()
    assert list(source.batches(start=100)) == []


@given(groups=st.lists(st.integers(0, 9), min_size=1, max_size=8), rows=st.integers(1, 12), start=st.integers(0, 40))
def test_regrouping_keeps_every_row_once_and_in_order(tmp_path_factory, groups, rows, start):
    path = tmp_path_factory.mktemp("regrouping") / "table.arrow"
    n = sum(groups)
    schema = pa.schema({"count": pa.int64()})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        first = 0
        for size in groups:
            writer.write_batch(pa.record_batch({"count": pa.array(range(first, first + size), pa.int64())}))
            first += size
    batches = list(open_source(path).batches(rows=rows, start=start))
    assert [value for batch in batches for value in batch["count"].to_pylist()] == list(range(start, n))
    assert all(batch.num_rows == rows for batch in batches[:-1])


def test_numpy_matrices_have_numbered_columns(tmp_path, rng):
    X = rng.normal(size=(50, 3)).astype(np.float32)
    np.save(tmp_path / "points.npy", X)
    source = open_source(tmp_path / "points.npy")
    assert source.names == ["x0", "x1", "x2"]
    assert source.n_rows == 50
    assert source.schema.types == [pa.float32()] * 3
    np.testing.assert_array_equal(np.column_stack([source.read()[name] for name in source.names]), X)
    [last] = source.batches(columns=["x2"], start=45)
    np.testing.assert_array_equal(last["x2"], X[45:, 2])


def test_numpy_archives_put_vectors_beside_the_matrix(tmp_path, rng):
    X, labels = rng.normal(size=(20, 2)), np.array(["a", "b"] * 10)
    np.savez(tmp_path / "points.npz", data=X, labels=labels)
    source = open_source(tmp_path / "points.npz")
    assert source.names == ["x0", "x1", "labels"]
    assert source.read(["labels"])["labels"].to_pylist() == labels.tolist()
    assert open_source(f"{tmp_path / 'points.npz'}:data").names == ["x0", "x1"]


def test_archives_of_several_matrices_need_a_name(tmp_path):
    np.savez(tmp_path / "two.npz", first=np.ones((3, 2)), second=np.ones((4, 2)))
    with pytest.raises(TableError, match=r"arrays are: first, second.*two\.npz:NAME"):
        open_source(tmp_path / "two.npz")
    assert open_source(f"{tmp_path / 'two.npz'}:second").n_rows == 4
    with pytest.raises(TableError, match="no array 'third'"):
        open_source(f"{tmp_path / 'two.npz'}:third")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((2, 2, 2)), "shape"),
        (np.array([[1 + 2j]]), "complex"),
        (np.array([{}], dtype=object), "not an .npy file of numbers"),
    ],
)
def test_arrays_that_are_no_tables_are_refused(tmp_path, array, message):
    np.save(tmp_path / "points.npy", array, allow_pickle=True)
    with pytest.raises(TableError, match=message):
        open_source(tmp_path / "points.npy")


def test_several_files_are_read_as_one(tmp_path):
    (tmp_path / "part-1.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "part-2.csv").write_text("b,a\nz,2.5\n")
    source = open_source(tmp_path / "part-*.csv")
    assert source.read().to_pylist() == [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}, {"a": 2.5, "b": "z"}]
    assert values(source.batches(rows=2, columns=["a"], start=1)) == [{"a": 2.0}, {"a": 2.5}]
    assert source.n_rows == 3
    both = open_source([tmp_path / "part-2.csv", str(tmp_path / "part-1.csv")])
    assert [row["a"] for row in both.read().to_pylist()] == [2.5, 1.0, 2.0]


def test_several_files_must_have_the_same_columns(tmp_path):
    (tmp_path / "part-1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "part-2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(TableError, match=r"different columns: 'b', 'c'"):
        open_source(tmp_path / "part-*.csv")


def test_a_pattern_that_matches_nothing_says_so(tmp_path):
    with pytest.raises(TableError, match="no file matches"):
        open_source(tmp_path / "*.parquet")


def test_the_type_of_a_column_fits_all_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.io._old_tables._csv._BLOCK", 4096)
    lines = ["count,late,text,empty", *["1,2,3,"] * 5_000, "2.5,x,4,5"]
    (tmp_path / "late.csv").write_text("\n".join(lines))
    source = open_source(tmp_path / "late.csv", text=["text"])
    assert source.schema.types == [pa.float64(), pa.string(), pa.string(), pa.int64()]
    *_, last = source.batches()
    assert last.slice(last.num_rows - 1).to_pylist() == [{"count": 2.5, "late": "x", "text": "4", "empty": 5}]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", {"a": 1, "b": 2}),
        (b"a;b\n1;2\n", {"a": 1, "b": 2}),
        (b"a\tb\n1\t2\n", {"a": 1, "b": 2}),
        ("größe,名前\n1.5,é\n".encode(), {"größe": 1.5, "名前": "é"}),
        (b'"a, b","c\nd"\n"x, ""y""","two\nlines"\n', {"a, b": 'x, "y"', "c\nd": "two\nlines"}),
        (b"\n\na,b\n1,2\n\n", {"a": 1, "b": 2}),
        (b"a,b\r1,2\r", {"a": 1, "b": 2}),
        (b",a\n7,8\n", {"": 7, "a": 8}),
        (b"a,b\n1,", {"a": 1, "b": None}),
    ],
    ids=["bom-crlf", "semicolons", "tabs", "unicode", "quotes", "blank-lines", "cr", "no-name", "no-newline"],
)
def test_text_as_people_have_it(tmp_path, content, expected):
    (tmp_path / "table.csv").write_bytes(content)
    assert open_source(tmp_path / "table.csv").read().to_pylist() == [expected]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ragged.csv", b"a,b\n1,2\n3\n4,5\n", r"line 3: 1 columns, but the header has 2"),
        ("ragged.csv", b'a,b\n"1\n1",2\n3,4,5\n', r"line 4: 3 columns, but the header has 2"),
        ("twice.csv", b"a,b,a\n1,2,3\n", r"more than one column named 'a'"),
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b"\n\n", "no header"),
        ("latin.csv", "größe\n1\n".encode("latin-1"), "not UTF-8"),
        ("latin.csv", "a,b\n1,é\n".encode("latin-1"), "column 'b' is not UTF-8"),
        ("wide.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("binary.csv", b"a,b\n\0\0\0", "binary"),
        ("wrong.csv", b"PAR1rest", "Parquet"),
        ("wrong.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("wrong.arrow", b"a,b\n1,2\n", "not an Arrow file"),
        ("wrong.npy", b"a,b\n1,2\n", "not an .npy file"),
        ("wrong.npz", b"a,b\n1,2\n", "not an .npz file"),
        ("table.ods", b"a", "the ending does not say"),
        ("open.csv", b'a,b\n1,"' + b"x" * (17 << 20), "quotation mark"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        open_source(path).read()
    assert name in str(caught.value)


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    (tmp_path / "header.csv").write_text("a,b\n")
    source = open_source(tmp_path / "header.csv")
    assert source.names == ["a", "b"]
    assert source.read().num_rows == 0


def test_a_folder_a_missing_file_and_a_wrong_format_are_refused(tmp_path):
    with pytest.raises(TableError, match="is a folder"):
        open_source(tmp_path)
    with pytest.raises(TableError, match="does not exist"):
        open_source(tmp_path / "none.csv")
    with pytest.raises(TableError, match="format must be one of"):
        open_source(tmp_path / "none.csv", format="ods")
    with pytest.raises(TableError, match="no file was named"):
        open_source([])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_an_unreadable_file_is_refused(tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "secret.csv").chmod(0)
    with pytest.raises(TableError, match="permission denied"):
        open_source(tmp_path / "secret.csv")


def test_a_file_the_system_refuses_to_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(TableError, match="permission denied"):
        open_source(tmp_path / "secret.csv")


def test_a_column_that_is_not_there_is_named_with_those_close_to_it(tmp_path):
    (tmp_path / "table.csv").write_text("Weight,height\n1,2\n")
    with pytest.raises(TableError, match=r"no column 'wieght'. Did you mean 'Weight' or 'height'\?"):
        open_source(tmp_path / "table.csv", columns=["wieght"])
    with pytest.raises(TableError, match=r"no column 'zzz'\. Its columns are 'Weight', 'height'"):
        open_source(tmp_path / "table.csv").read(["zzz"])


def test_the_format_can_be_given(tmp_path):
    (tmp_path / "table.data").write_text("a\tb\n1\t2\n")
    assert open_source(tmp_path / "table.data", format="tsv").names == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_can_be_read_more_than_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('a,b\\n1,2\\n3,4\\n')"]) as process:
        source = open_source(pipe)
        assert process.wait() == 0
    assert source.read().num_rows == 2
    assert [batch["b"].to_pylist() for batch in source.batches(rows=1)] == [[2], [4]]


def test_metadata_of_a_sink_does_not_hinder_reading(tmp_path):
    with open_sink(tmp_path / "table.parquet", metadata={"a": 1}) as sink:
        sink.write(TABLE)
    assert open_source(tmp_path / "table.parquet").read().to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize("ending", ["parquet", "npy"])
def test_schemas_are_made_once_however_many_columns_ask(tmp_path, ending):
    """Each column of a file of 10,000 had them made again, which took minutes."""
    path = tmp_path / f"wide.{ending}"
    if ending == "npy":
        np.save(path, np.zeros((3, 2000)))
    else:
        pa.parquet.write_table(pa.table({f"x{i}": np.zeros(3) for i in range(2000)}), path)
    source = open_source(path)
    prepared = PreparedSource(source, plan_features(source))
    for table in (source, prepared):
        assert table.schema is table.schema
    assert prepared.read().num_columns == 2001


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_views_and_runs_are_read_as_plain_columns(tmp_path, ending):
    views = {
        "text": pa.array(["a", None, "c"], pa.string_view()),
        "bytes": pa.array([b"a", None, b"c"], pa.binary_view()),
        "runs": pa.RunEndEncodedArray.from_arrays([2, 3], ["x", "y"]),
    }
    with open_sink(tmp_path / f"table.{ending}") as sink:
        sink.write(pa.table(views))
    source = open_source(tmp_path / f"table.{ending}")
    found = source.read(["bytes", "text"])
    assert found.schema.types == [pa.binary(), pa.string()]
    assert found.take([2, 1]).to_pylist() == [{"bytes": b"c", "text": "c"}, {"bytes": None, "text": None}]
    assert source.read(["runs"])["runs"].to_pylist() == ["x", "x", "y"]
