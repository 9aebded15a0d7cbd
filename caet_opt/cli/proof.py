"""What ``solve`` prints and writes about proven digits."""

import json
from typing import TYPE_CHECKING, Any

from caet_opt.cli.output import output_file
from caet_opt.presenting.numbers import proportion, table

if TYPE_CHECKING:
    from fractions import Fraction

    from caet_opt.bandits.modelfile import ModelFile
    from caet_opt.cli.output import Write
    from caet_opt.proving.result import ProvenTime

#: Most decimals of a refined proportion on a terminal.
MOST_DECIMALS = 20


def certificate_file(entry: "ModelFile", path: str) -> "Write":
    """The file of the certificate, tried before the work; `InputError` for a model that no certificate describes."""
    from caet_opt.proving.certificates import check_certifiable

    check_certifiable(entry.model, entry.task)
    return output_file(path, "--certificate")


def certificate_text(proven: "ProvenTime") -> str:
    """The certificate as JSON."""
    from caet_opt.proving.certificates import certificate

    return json.dumps(certificate(proven), indent=1) + "\n"


def proven_lines(proven: "ProvenTime") -> str:
    """T* with its proven digits, and what is not proven."""
    low, high = proven.bounds
    return (
        f"T* = {proven.value}\nT* >= {low}\nT* <= {high}\n"
        "proven for the inputs as exact decimals: every printed digit of T*, rounded, and both bounds\n"
        "refined, not proven: the digits of the proportions and which pairs bind"
    )


def proven_table(proven: "ProvenTime") -> str:
    """One line per arm: the inputs as they were typed, the proportions to half of the digits that were asked for."""
    from caet_opt.bandits.exact import decimal_text

    model, decimals = proven.model, max(1, min(MOST_DECIMALS, proven.digits // 2))
    rows = zip(
        model.arms,
        map(decimal_text, model.exact_means),
        map(decimal_text, model.exact_costs),
        (fixed(share, decimals) for share in proven.cost_proportions),
        (fixed(share, decimals) for share in proven.sampling_proportions),
        strict=True,
    )
    return table(["arm", "mean", "cost", "cost proportion", "sampling proportion"], [list(row) for row in rows])


def fixed(share: "Fraction", decimals: int) -> str:
    """A proportion to so many decimals; a smaller one in scientific notation, so that it is not taken for zero."""
    if share * 10**decimals < 1:
        return proportion(float(share), decimals)
    whole = str(round(share * 10**decimals)).rjust(decimals + 1, "0")
    return f"{whole[:-decimals]}.{whole[-decimals:]}"


def proven_object(proven: "ProvenTime") -> dict[str, Any]:
    """What is proven, as decimal texts; the proportions to half of the digits, refined and not proven."""
    from caet_opt.bandits.exact import decimal_text

    low, high = proven.bounds
    decimals = max(1, proven.digits // 2)
    return {
        "digits": proven.digits,
        "exact_means": list(map(decimal_text, proven.model.exact_means)),
        "exact_costs": list(map(decimal_text, proven.model.exact_costs)),
        "proven": proven.value,
        "proven_lower": low,
        "proven_upper": high,
        "refined_cost_proportions": [fixed(share, decimals) for share in proven.cost_proportions],
        "refined_sampling_proportions": [fixed(share, decimals) for share in proven.sampling_proportions],
        "proof_seconds": proven.seconds,
    }
