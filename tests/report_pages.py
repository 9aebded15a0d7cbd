"""Results for the tests of the report: small, half finished, and with titles that would like to be more than text."""

import json

from study_files import write_study

from caet_opt.cli import main
from caet_opt.simulating.studies.store import Store

EVIL = "<b>b</b> &amp; </script><script>alert(1)</script> \"quotes\" 'q' <img src=x onerror=alert(1)> ${x} %{y} {{7*7}}"


def make_results(folder, damage=True, **changes):
    """A folder of results: two models, of which one is named badly, and, if damaged, a block given up."""
    study = {"title": EVIL, "threshold": ["customary", "deviational"], "runs": 12, "max_rounds": 60, **changes}
    path = write_study(folder, **study)
    (folder / "easy-model.toml").write_text(
        f"title = {json.dumps(EVIL)}\narms = [{json.dumps(EVIL)}, 'plain']\n"
        'family = "gaussian"\nmeans = [2, 0]\ncosts = [1, 1]\ntask = "best-arm"\n'
    )
    (folder / "free-model.toml").write_text(
        'family = "bernoulli"\nmeans = [0.9, 0.2, 0.4]\ncosts = [0, 1, 2]\narms = ["a", "b", "c"]\ntask = "ranking"\n'
    )
    results = folder / "results"
    assert main(["sweep", path, "--out", str(results), "--workers", "1"]) == 0
    if damage:
        give_up_a_block(results)
    return results


def give_up_a_block(results):
    """Make a block of five runs one that failed."""
    import pyarrow.parquet as pq

    for path in sorted((results / "blocks").iterdir()):
        label = json.loads(pq.read_schema(path).metadata[b"caet_opt"])
        if label["runs"] == 5:
            break
    path.unlink()
    block = {name: label[name] for name in ("cell", "seed", "first", "runs")}
    manifest = Store(results).read_manifest()
    manifest["failures"] = [{**block, "error": f"ValueError: {EVIL}"}]
    Store(results).write_manifest(manifest)
