"""A block of runs as a Parquet file that knows what it is and notices damage."""

import json
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caet_opt import __version__
from caet_opt.errors import missing_extra
from caet_opt.simulation import RunRecord
from caet_opt.studies.blocks import Block

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1

#: The key of the file's metadata that says what the block is.
METADATA = b"caet_opt"


class DamagedError(Exception):
    """A file that is not the whole block that its name says."""


def require_pyarrow() -> None:
    """Raise `MissingExtraError` where pyarrow is missing."""
    if find_spec("pyarrow") is None:
        raise missing_extra("stored results need pyarrow", "studies")


def schema() -> "pa.Schema":
    """The columns of a block."""
    import pyarrow as pa

    return pa.schema(
        [
            ("run", pa.int64()),
            ("stopped", pa.bool_()),
            ("correct", pa.bool_()),
            ("answer", pa.string()),
            ("rounds", pa.int64()),
            ("cost", pa.float64()),
            ("counts", pa.list_(pa.int64())),
        ]
    )


def block_bytes(block: Block, records: Sequence[RunRecord]) -> bytes:
    """The file of a block; the same bytes whoever computed it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = zip(*records, strict=True)
    table = pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema().types, strict=True)], schema=schema()
    )
    label = {"format": FORMAT, **block._asdict(), "caet_opt": __version__, "sha256": fingerprint(table)}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata({METADATA: json.dumps(label)}),
        sink,
        compression="zstd",
        write_statistics=False,
        use_dictionary=["answer"],
    )
    return bytes(sink.getvalue())


def read_block(path: Path) -> "tuple[Block, pa.Table]":
    """The block and its columns, or `DamagedError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(pa.BufferReader(path.read_bytes())).read(use_threads=False)
        label = json.loads(table.schema.metadata[METADATA])
        block = Block(*(label[name] for name in Block._fields))
        whole = table.schema.equals(schema()) and table.num_rows == block.runs and block.name == path.stem
        if not whole or label["sha256"] != fingerprint(table):
            raise DamagedError(f"{path} does not hold what it says")
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{path} cannot be read ({error})") from error
    return block, table


def fingerprint(table: "pa.Table") -> str:
    """A hash of every value of the columns, whatever chunks and encodings hold them."""
    found = sha256()
    for column in table.combine_chunks().columns:
        found.update(raw_bytes(column))
    return found.hexdigest()


def raw_bytes(column: "pa.ChunkedArray") -> bytes:
    """The values of a column one after the other; a missing truth value is a two, lists and texts have lengths."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(column.type):
        return raw_bytes(pc.list_value_length(column)) + raw_bytes(pc.list_flatten(column))
    if pa.types.is_string(column.type):
        return raw_bytes(pc.binary_length(column)) + "".join(column.to_pylist()).encode()
    if pa.types.is_boolean(column.type):
        column = pc.fill_null(pc.cast(column, pa.uint8()), 2)
    values: np.ndarray[Any, Any] = column.to_numpy()
    return np.ascontiguousarray(values).tobytes()
