"""A block of runs as a Parquet file that knows what it is, whose name has the hash of its bytes."""

import json
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from caet_opt.errors import missing_extra
from caet_opt.simulating.runs import RunRecord
from caet_opt.simulating.studies.blocks import Block
from caet_opt.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

#: The key of the file's metadata that says what the block is.
METADATA = b"caet_opt"

#: How a file's name ends, and the digits of the hash in it.
SUFFIX, SEAL_DIGITS = ".parquet", 32


class DamagedError(Exception):
    """A file that is not the whole block that its name says."""


class StoredBlock(NamedTuple):
    """A block that a file holds, the version of caet-opt that computed it, and its columns."""

    block: Block
    version: str
    table: "pa.Table"


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
    label = {**block._asdict(), "caet_opt": __version__}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata({METADATA: json.dumps(label)}),
        sink,
        compression="zstd",
        write_statistics=False,
        use_dictionary=["answer"],
    )
    return bytes(sink.getvalue())


def file_name(block: Block, content: bytes) -> str:
    """The name of a block's file: what it computes, and the hash of its bytes.

    So a file is whole and sealed from the moment that it has its name, whoever writes it, and stays plain Parquet.
    """
    return f"{block.name}-{seal(content)}{SUFFIX}"


def seal(content: bytes) -> str:
    """A hash of a file's bytes."""
    return sha256(content).hexdigest()[:SEAL_DIGITS]


def read_block(path: Path) -> StoredBlock:
    """What a file holds, or `DamagedError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name, _, expected = path.stem.partition("-")
    try:
        content = path.read_bytes()
        if seal(content) != expected:
            raise DamagedError(f"{path} is damaged: its bytes are not those that were written")
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        label = json.loads(table.schema.metadata[METADATA])
        found = StoredBlock(Block(*(label[key] for key in Block._fields)), str(label["caet_opt"]), table)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{path} cannot be read ({error})") from error
    if not table.schema.equals(schema()) or table.num_rows != found.block.runs or found.block.name != name:
        raise DamagedError(f"{path} does not hold what it says")
    return found
