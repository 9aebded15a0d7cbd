"""Studies: grids of models, deltas and parameters, run in blocks anywhere and kept in a folder that loses nothing.

study -> cells -> blocks of runs -> local processes or a Dask cluster -> store -> results, tables, figures
"""

import os
from pathlib import Path

from caet_opt.errors import InputError

#: What a folder of results is made of, the names of its files: no other output may replace them.
MANIFEST, BLOCKS, LOCK, HOLDER = "manifest.json", "blocks", "sweep.lock", "sweep.json"

#: How the name of a block's file ends.
SUFFIX = ".parquet"


def check_no_result(path: str | Path) -> None:
    """Raise `InputError` for an existing file that a folder of results is made of: it would be lost."""
    place = Path(os.path.realpath(path))
    folder = place.parent.parent if place.parent.name == BLOCKS else place.parent
    own = place.name in (MANIFEST, LOCK, HOLDER) if folder == place.parent else place.suffix == SUFFIX
    if own and place.is_file() and (folder / MANIFEST).is_file() and (folder / BLOCKS).is_dir():
        raise InputError(f"{path}: belongs to the results in {folder}, and would be lost; name another file")
