"""The folder of a study's results: a manifest, one file per block, and a lock while a sweep writes to it."""

import json
import os
import platform
import socket
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from caet_opt import __version__
from caet_opt.errors import InputError
from caet_opt.simulation import RunRecord
from caet_opt.studies.blocks import Block
from caet_opt.studies.cells import Cell
from caet_opt.studies.parquet import FORMAT, DamagedError, block_bytes, read_block
from caet_opt.studies.study import Study

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST, BLOCKS, LOCK = "manifest.json", "blocks", "sweep.lock"

#: What a file is called until it is whole.
UNFINISHED = ".part"

Record = dict[str, Any]


class StoreError(Exception):
    """The results cannot be written any more, as on a full disk; what was written is whole."""


class Store:
    """The results in one folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.blocks = self.folder / BLOCKS

    def read_manifest(self) -> Record:
        """The manifest; `InputError` where there is none, or none that this version reads."""
        path = self.folder / MANIFEST
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise InputError(
                f"{self.folder}: no results here ({MANIFEST} is missing); make them with caet-opt sweep"
            ) from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise InputError(f"{path}: damaged ({error}); move it away, and the sweep writes it anew") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"{path}: not a manifest of format {FORMAT}; name another folder")
        return found

    def begin(self, study: Study, cells: Sequence[Cell]) -> Record:
        """Write the manifest of a study: its cells, then those of earlier studies, and the failures known so far."""
        before: Record = self.read_manifest() if (self.folder / MANIFEST).exists() else {"cells": [], "failures": []}
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
        self.write(self.folder / MANIFEST, json.dumps(manifest, indent=1, allow_nan=False).encode())

    def write_block(self, block: Block, records: Sequence[RunRecord]) -> None:
        """Keep a block."""
        self.write(self.path(block), block_bytes(block, records))

    def path(self, block: Block) -> Path:
        """Where a block is kept."""
        return self.blocks / f"{block.name}.parquet"

    def write(self, path: Path, content: bytes) -> None:
        """A file that is whole or not there, whenever the process or the machine stops, or `StoreError`."""
        part = path.with_name(f"{path.name}{UNFINISHED}")
        try:
            with part.open("wb") as sink:
                sink.write(content)
                sink.flush()
                os.fsync(sink.fileno())
            os.replace(part, path)
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror})") from error
        finally:
            part.unlink(missing_ok=True)

    def read_blocks(self) -> "Iterator[tuple[Path, Block, pa.Table] | tuple[Path, DamagedError, None]]":
        """Every file of a block with what it holds, or with the damage that it has."""
        for path in sorted(self.blocks.glob("*.parquet")):
            try:
                yield path, *read_block(path)
            except DamagedError as damage:
                yield path, damage, None

    def take_stock(self) -> tuple[dict[str, list[Block]], list[Path]]:
        """The whole blocks of each cell, and the damaged files."""
        whole: dict[str, list[Block]] = defaultdict(list)
        damaged = []
        for path, found, _ in self.read_blocks():
            if isinstance(found, Block):
                whole[found.cell].append(found)
            else:
                damaged.append(path)
        return whole, damaged

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The folder, made if need be, for this process alone, without what a killed sweep left unfinished.

        A record lock belongs to the process that takes it: its forked workers do not hold it, and it ends with it.
        """
        try:
            self.blocks.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / LOCK).open("a+")
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written ({error.strerror})") from error
        with lock:
            self.take(lock)
            remove(self.folder.glob(f"*{UNFINISHED}"))
            remove(self.blocks.glob(f"*{UNFINISHED}"))
            yield
            lock.truncate(0)

    def take(self, lock: TextIO) -> None:
        """Take the lock and write into it who has it; `InputError` with who has it already."""
        import fcntl

        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise InputError(f"{self.folder}: a sweep is running here already ({holder(lock.read())})") from None
        since = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            lock.truncate(0)
            lock.write(json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": since}))
            lock.flush()
        except OSError as error:
            raise StoreError(f"{self.folder}: cannot be written ({error.strerror})") from error


def holder(text: str) -> str:
    """Who holds a lock, as people read it."""
    try:
        found = json.loads(text)
        return f"process {found['process']} on {found['host']}, since {found['since']}"
    except (ValueError, KeyError, TypeError):
        return "its process is not known"


def remove(paths: Iterable[Path]) -> None:
    """Delete files."""
    for path in paths:
        path.unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """The versions that the numbers may depend on."""
    packages = {name: version(name) for name in ("numpy", "numba", "pyarrow")}
    return {"caet_opt": __version__, "python": sys.version.split()[0], **packages}
