"""Who provides Ipopt here, told without importing any of it: the module cyipopt, or else the library inside casadi."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

#: Ipopt's shared library in casadi's folder, on Linux, macOS and Windows.
LIBRARY_NAMES = ("libipopt.so*", "libipopt*.dylib", "libipopt*.dll")

#: Distributions that bring each module; cyipopt's wheels have a name of their own.
DISTRIBUTIONS = {"cyipopt": ("cyipopt-wheels", "cyipopt"), "casadi": ("casadi",)}


def ipopt_module() -> str | None:
    """``"cyipopt"`` where it is installed, else ``"casadi"`` where that has Ipopt inside, else None."""
    if find_spec("cyipopt") is not None:
        return "cyipopt"
    return "casadi" if casadi_library() is not None else None


@cache
def casadi_library() -> Path | None:
    """Ipopt's shared library inside casadi; None without casadi, and in builds of casadi that leave Ipopt out."""
    folder = module_folder("casadi")
    found = [] if folder is None else [path for name in LIBRARY_NAMES for path in sorted(folder.glob(name))]
    return found[0] if found else None


def ipopt_provider() -> str | None:
    """For people: ``"Ipopt 3.14.19 by casadi 3.8.2"``, without the numbers that no file tells; None without Ipopt."""
    module = ipopt_module()
    if module is None:
        return None
    number = next(ipopt_versions(module), "")
    return " ".join(filter(None, ["Ipopt", number, "by", distribution(module)]))


def distribution(module: str) -> str:
    """The name and version under which the module was installed; its own name where nothing is recorded."""
    for name in DISTRIBUTIONS[module]:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return module


def ipopt_versions(module: str) -> Iterator[str]:
    """Ipopt's version: casadi ships Ipopt's header, and on Linux the wheels' library has it at the end of its name."""
    folder = module_folder(module)
    if folder is None:
        return
    for header in folder.glob("include/coin-or/IpoptConfig.h"):
        yield from re.findall(r'define IPOPT_VERSION "([\d.]+)"', header.read_text(encoding="utf-8", errors="replace"))
    for library in (folder.parent / "cyipopt_wheels.libs").glob("libipopt*") if module == "cyipopt" else ():
        yield from re.findall(r"\.so\.(\d+\.\d+\.\d+)$", library.name)


def module_folder(module: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = find_spec(module)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None
