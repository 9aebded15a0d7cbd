"""The folder of a study's results: a manifest, one Parquet file per block, and a lock while a sweep writes to it."""

import json
import os
import platform
import socket
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from caet_opt.common.files import UNFINISHED, write_whole
from caet_opt.errors import CaetError, InputError, missing_extra
from caet_opt.simulating.runs import RunRecord
from caet_opt.simulating.studies import BLOCKS, HOLDER, LOCK, MANIFEST, SUFFIX
from caet_opt.simulating.studies.blocks import Block
from caet_opt.simulating.studies.cells import Cell
from caet_opt.simulating.studies.manifest import FORMAT, Record, complete, seal, unseal
from caet_opt.simulating.studies.study import Study
from caet_opt.version import __version__, has_equal_results

if TYPE_CHECKING:
    import pyarrow as pa

#: Seconds to wait for a lock: the workers of a sweep that was killed may live for a moment longer, and hold it.
PATIENCE = 1.0

#: The key of the file's metadata that says what the block is.
METADATA = b"caet_opt"

#: Digits of the hash in a file's name.
SEAL_DIGITS = 32


class DamagedError(Exception):
    """A file that is not the whole block that its name says."""


class StoredBlock(NamedTuple):
    """A block that a file holds, the version of caet-opt that computed it, and its columns."""

    block: Block
    version: str
    table: "pa.Table"


class Stock(NamedTuple):
    """What a folder has.

    Attributes
    ----------
    whole : the blocks of each cell that are whole, and of a version of caet-opt whose runs are those of this one
    outdated : the versions of each cell's other blocks
    damaged : the files that are not what was written
    """

    whole: dict[str, list[Block]]
    outdated: dict[str, set[str]]
    damaged: list[Path]

    def check_versions(self, folder: Path, cells: Iterable[Cell]) -> None:
        """Raise `InputError` where cells have runs of a version whose runs are others: they are kept, and not mixed."""
        if found := sorted(set().union(*(self.outdated.get(cell.id, ()) for cell in cells))):
            raise InputError(
                f"{folder}: has runs of caet-opt {' and '.join(found)}, which differ from those of {__version__}; "
                "they can be read and reported, but to continue, name another folder or move this one away"
            )


class StoreError(CaetError):
    """The results cannot be written any more, as on a full disk; what was written is whole."""


class Store:
    """The results in one folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.blocks = self.folder / BLOCKS

    def read_manifest(self) -> Record:
        """The manifest, every setting in it; `InputError` where there is none, or none that this version reads."""
        return complete(self.read_stored_manifest())

    def read_stored_manifest(self) -> Record:
        """The manifest as it is stored."""
        path = self.folder / MANIFEST
        try:
            return unseal(path.read_bytes())
        except FileNotFoundError:
            raise InputError(
                f"{self.folder}: no results here ({MANIFEST} is missing); make them with caet-opt sweep"
            ) from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def begin(self, study: Study, cells: Sequence[Cell]) -> Record:
        """Write the manifest of a study: its cells, then those of earlier studies, and the failures known so far."""
        before: Record = (
            self.read_stored_manifest() if (self.folder / MANIFEST).exists() else {"cells": [], "failures": []}
        )
        records = [cell.record() for cell in cells]
        asked = {record["id"] for record in records}
        manifest = {
            "format": FORMAT,
            "study": {"name": study.name, **study.table},
            "seed": study.seed,
            "versions": versions(),
            "platform": platform.platform(),
            "cells": records + [record for record in before["cells"] if record["id"] not in asked],
            "failures": before["failures"],
        }
        self.write_manifest(manifest)
        return manifest

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        self.write(self.folder / MANIFEST, seal(manifest))

    def write_block(self, block: Block, records: Sequence[RunRecord]) -> None:
        """Keep a block."""
        content = block_bytes(block, records)
        self.write(self.blocks / file_name(block, content), content)

    def names(self) -> set[str]:
        """The names of the blocks that have a file."""
        return {path.stem.partition("-")[0] for path in self.blocks.glob(f"*{SUFFIX}")}

    def write(self, path: Path, content: bytes) -> None:
        """A file that is whole or not there, whenever the process or the machine stops, or `StoreError`."""
        try:
            write_whole(path, content)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror})") from error

    def read_blocks(self) -> Iterator[tuple[Path, StoredBlock | DamagedError]]:
        """Every file of a block with what it holds, or with the damage that it has."""
        for path in sorted(self.blocks.glob(f"*{SUFFIX}")):
            try:
                yield path, read_block(path)
            except DamagedError as damage:
                yield path, damage

    def take_stock(self) -> Stock:
        """What the files hold."""
        stock = Stock(defaultdict(list), defaultdict(set), [])
        for path, found in self.read_blocks():
            if isinstance(found, DamagedError):
                stock.damaged.append(path)
            elif not has_equal_results(found.version, __version__):
                stock.outdated[found.block.cell].add(found.version)
            else:
                stock.whole[found.block.cell].append(found.block)
        return stock

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The folder, made if need be, for this process alone, without what a killed sweep left unfinished.

        The system takes the lock back when the process ends, however it ends.
        """
        try:
            from filelock import FileLock, Timeout
        except ImportError as error:
            raise missing_extra("sweeps need the module 'filelock'", "studies") from error

        lock, holder = FileLock(self.folder / LOCK), self.folder / HOLDER
        try:
            self.blocks.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=PATIENCE)
        except Timeout:
            raise InputError(f"{self.folder}: a sweep is running here already ({read_holder(holder)})") from None
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written ({error.strerror})") from error
        try:
            self.write_holder(holder)
            remove(self.folder.glob(f"*{UNFINISHED}"))
            remove(self.blocks.glob(f"*{UNFINISHED}"))
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()

    def write_holder(self, path: Path) -> None:
        """Say who has the lock, in a file of its own: Windows lets nobody else read a locked one."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            path.write_text(json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": since}))
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror})") from error


def read_holder(path: Path) -> str:
    """Who has the lock, as people read it."""
    try:
        found = json.loads(path.read_text())
        return f"process {found['process']} on {found['host']}, since {found['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "its process is not known"


def remove(paths: Iterable[Path]) -> None:
    """Delete files, or `StoreError`."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{path}: cannot be removed ({error.strerror})") from error


def versions() -> dict[str, str]:
    """The versions that the numbers may depend on."""
    packages = {name: version(name) for name in ("numpy", "numba", "pyarrow")}
    return {"caet_opt": __version__, "python": sys.version.split()[0], **packages}


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
            ("solves", pa.int64()),
            ("widest_gap", pa.float64()),
            ("counts", pa.list_(pa.int64())),
        ]
    )


def block_bytes(block: Block, records: Sequence[RunRecord]) -> bytes:
    """The file of a block; the same bytes whoever computed it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stored = len(schema().names)  # the first parts of a record; what limits leave is not for studies
    columns = zip(*(record[:stored] for record in records), strict=True)
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
    return f"{block.name}-{sha256(content).hexdigest()[:SEAL_DIGITS]}{SUFFIX}"


def read_block(path: Path) -> StoredBlock:
    """What a file holds, or `DamagedError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name, _, expected = path.stem.partition("-")
    try:
        content = path.read_bytes()
        if sha256(content).hexdigest()[:SEAL_DIGITS] != expected:
            raise DamagedError(f"{path} is damaged: its bytes are not those that were written")
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        label = json.loads(table.schema.metadata[METADATA])
        found = StoredBlock(Block(*(label[key] for key in Block._fields)), str(label["caet_opt"]), table)
        if found.version != __version__:
            found = found._replace(table=fit_columns(table))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{path} cannot be read ({error})") from error
    if not found.table.schema.equals(schema()) or table.num_rows != found.block.runs or found.block.name != name:
        raise DamagedError(f"{path} does not hold what it says")
    return found


def fit_columns(table: "pa.Table") -> "pa.Table":
    """The columns of this version in a block of another one, empty where it has none."""
    import pyarrow as pa

    columns = [
        table[one.name] if one.name in table.column_names else pa.nulls(table.num_rows, one.type) for one in schema()
    ]
    return pa.Table.from_arrays(columns, schema=schema().with_metadata(table.schema.metadata))
