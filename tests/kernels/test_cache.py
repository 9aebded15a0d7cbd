"""Numba's cache on disk, damaged, full or out of reach: it costs a compilation, one line on stderr, and no more."""

import errno
import os
from pathlib import Path

import numba
import pytest
from numba.core.caching import CompileResultCacheImpl, IndexDataCacheFile

from caet_opt.kernels import careful_cache
from caet_opt.kernels.compile import compile_functions


def doubled(x: float) -> float:
    return 2.0 * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, of which nothing was said yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(careful_cache, "_told", False)
    return tmp_path


def call():
    """What a new process would do: look for the function on disk, compile it if need be; how often it was found."""
    function = compile_functions((doubled,))["doubled"]
    assert function(1.5) == 3.0
    return sum(function.stats.cache_hits.values())


def kept(folder):
    return [path for path in folder.rglob("*") if path.suffix in (".nbi", ".nbc")]


def test_what_was_compiled_is_found_again(folder, capfd):
    assert [call(), call()] == [0, 1]
    assert {path.suffix for path in kept(folder)} == {".nbi", ".nbc"}
    assert capfd.readouterr() == ("", "")


def cut(data):
    return data[: len(data) // 2]


def flip(data):
    """One bit in the midst of the machine code, which numba would load and run."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "damage", [cut, flip, lambda data: b"", lambda data: b"garbage"], ids=["cut", "flip", "empty", "garbage"]
)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_said_once_and_replaced(folder, suffix, damage, capfd):
    call()
    (path,) = (path for path in kept(folder) if path.suffix == suffix)
    path.write_bytes(damage(path.read_bytes()))
    assert [call(), call()] == [0, 1]
    said = capfd.readouterr().err
    assert said == f"caet-opt: numba's cache in {path.parent}: {path.name} is damaged; compiled without it\n"


def test_a_disk_without_room(folder, monkeypatch, capfd):
    def refuse(self, filepath):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", refuse)
    assert [call(), call()] == [0, 0]
    (place,) = folder.iterdir()
    said = capfd.readouterr().err
    assert said == f"caet-opt: numba's cache in {place}: No space left on device; compiled without it\n"


def test_a_damaged_file_that_cannot_be_replaced(folder, monkeypatch, capfd):
    call()
    for path in kept(folder):
        path.write_bytes(b"")

    def refuse(self, filepath):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", refuse)
    assert [call(), call()] == [0, 0]
    assert capfd.readouterr().err.count("\n") == 1


def test_an_index_that_cannot_be_read(folder, capfd):
    call()
    (index,) = (path for path in kept(folder) if path.suffix == ".nbi")
    index.unlink()
    index.mkdir()
    assert [call(), call()] == [0, 0]
    said = capfd.readouterr().err
    assert said == f"caet-opt: numba's cache in {index.parent}: Is a directory; compiled without it\n"


def test_no_folder_that_can_be_written(folder, monkeypatch, capfd):
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    assert [call(), call()] == [0, 0]
    said = capfd.readouterr().err
    assert said.startswith(f"caet-opt: numba's cache in {folder}: no file can be written there")
    assert said.count("\n") == 1


def test_without_a_folder_of_ones_own_it_is_the_one_beside_the_source(folder, monkeypatch, capfd):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    call()
    assert f"numba's cache in {Path(__file__).parent / '__pycache__'}: " in capfd.readouterr().err
