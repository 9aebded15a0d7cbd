"""Numba's cache on disk, which may be damaged, full, or nowhere to be written: then it is compiled without it."""

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from multiprocessing import parent_process
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

# mypy: disable-error-code="misc"
# numba has no types


def keep_on_disk(unit: Any) -> None:
    """Have numba look for a unit on disk, and keep it there, where it finds a folder for it."""
    try:
        unit._cache = CarefulCache(unit.py_func)
    except RuntimeError as error:  # numba has tried every folder that it knows
        beside = os.path.join(os.path.dirname(unit.py_func.__code__.co_filename), "__pycache__")
        tell_of_cache(numba.config.CACHE_DIR or beside, f"no file can be written there ({type(error).__name__})")


#: Whether this process has said that numba's cache cannot be used.
_told = False


def tell_of_cache(folder: str, why: str) -> None:
    """Say once, and not in every worker process, that something is compiled which numba's cache should have."""
    global _told
    if not _told and parent_process() is None:
        print(f"caet-opt: numba's cache in {folder}: {why}; compiled without it", file=sys.stderr)
    _told = True


class DamagedError(Exception):
    """A file of the cache is not as it was written."""


class SealedFile(IndexDataCacheFile):
    """Numba's files on disk, each with the SHA-256 of its bytes before them: numba itself runs whatever it finds."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        content = BytesIO()
        yield content
        with super()._open_for_write(filepath) as sink:
            sink.write(sha256(content.getvalue()).digest() + content.getvalue())

    def _read(self, path: str) -> BytesIO:
        """What was written; `DamagedError` for anything else."""
        with open(path, "rb") as source:
            seal, content = source.read(sha256().digest_size), source.read()
        if sha256(content).digest() != seal:
            raise DamagedError(os.path.basename(path))
        return BytesIO(content)

    def _load_index(self) -> dict[Any, str]:
        try:
            source = self._read(self._index_path)
        except FileNotFoundError:
            return {}
        if pickle.load(source) != self._version:
            return {}
        stamp, overloads = pickle.load(source)
        return dict(overloads) if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.load(self._read(self._data_path(name)))


class CarefulCache(FunctionCache):
    """Numba's cache of a function: what cannot be read is compiled, what cannot be written is compiled each time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = SealedFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except DamagedError as error:
            tell_of_cache(self._cache_path, f"{error} is damaged")
            with self._given_up():
                self.flush()  # an index that can be read, for what is saved after it
        except OSError as error:
            self._give_up(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with self._given_up():
            super().save_overload(sig, data)

    @contextmanager
    def _given_up(self) -> Iterator[None]:
        """What the system refuses is no longer tried."""
        try:
            yield
        except (OSError, DamagedError) as error:  # damaged by another process since it was read
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        tell_of_cache(self._cache_path, getattr(error, "strerror", None) or f"{error} is damaged")
        self.disable()
