"""What a version meant by what its files say, and by what they leave out.

Files that people keep are read by every later version. Each names the version that wrote it, and whatever has changed
since then is a line in one of the tables below; tests compare the last line of each with the code.
"""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from caet_opt.errors import InputError
from caet_opt.exploring.settings import SETTINGS
from caet_opt.exploring.stopping import OPTIONS, THRESHOLDS
from caet_opt.version import __version__, order

Key = TypeVar("Key")

#: What a setting that a file does not have meant, by the version since when. A default that changes is a line under the
#: version that changes it. A new setting needs none if everything is by default as it was before there was such a
#: setting, else one under the first version, too, that says how it was. Lines of settings that are no more stay.
DEFAULTS: dict[str, dict[str, Any]] = {
    "0.2.0": {
        "policy": "caet",
        "threshold": None,
        "rho": None,
        "theta": None,
        "constant": None,
        "zero_cost_share": "auto",
        "r": 0.4,
        "r_prime": 0.1,
        "gamma0": 0.1,
        "tracking": "c",
        "solve": "exact",
        "batch": 1,
        "cost_source": None,
        "cost_distribution": "constant",
        "max_rounds": 10_000_000,
        "outside_theory": False,
        "solver": "native",
        "loop": "compiled",
    },
    "0.4.0": {"tracking": "d"},
}

#: What a value of a setting that leaves a number to the version meant, likewise.
MEANINGS: dict[str, dict[tuple[str, str | None], Any]] = {
    "0.2.0": {
        ("rho", None): 8.0,
        ("theta", None): 1.2,
        ("constant", None): 1.0,
        ("solve", "lazy"): "lazy:0.1",
        ("batch", "growing"): "growing:0.1",
    },
}

#: Settings that are no more, and without which everything is as it was with any value of them.
DROPPED: tuple[str, ...] = ("loop", "outside_theory")


def since(table: Mapping[str, Mapping[Key, Any]], version: str) -> dict[Key, Any]:
    """A table as it was for a version: its first lines, and those of later versions up to this one."""
    first, *later = sorted(table, key=order)
    found = dict(table[first])
    for other in later:
        if order(other) <= order(version):
            found |= table[other]
    return found


def defaults_of(version: str) -> dict[str, Any]:
    """What settings meant to a version that does not write them."""
    return {setting.name: setting.default for setting in SETTINGS} | since(DEFAULTS, version)


def complete_settings(settings: Mapping[str, Any], version: str, known: Collection[str]) -> dict[str, Any]:
    """The settings of a file that a version wrote, each of the known ones with a value, in words of this version.

    >>> complete_settings({"policy": "uniform"}, "0.2.0", ["policy", "tracking"])
    {'policy': 'uniform', 'tracking': 'c'}
    """
    if unknown := [name for name in settings if name not in known and name not in DROPPED]:
        raise InputError(say_unknown("setting", unknown, version))
    defaults = defaults_of(version)
    told = {name: settings[name] if name in settings else defaults[name] for name in known}
    then, now, threshold = since(MEANINGS, version), since(MEANINGS, __version__), str(told.get("threshold"))
    used = THRESHOLDS[threshold].options if threshold in THRESHOLDS else ()
    for (name, word), meaning in then.items():
        if name in OPTIONS and name not in used:
            continue
        if meaning != now[name, word] and name in told and told[name] == word:
            told[name] = meaning
    return told


def say_unknown(what: str, names: Collection[str], version: str) -> str:
    """Why a file is refused that says something which this version does not understand."""
    quoted = ", ".join(map(repr, sorted(names)))
    return (
        f"{what} {quoted} is not known to caet-opt {__version__}; caet-opt {version} wrote it: use that, or a later one"
    )
