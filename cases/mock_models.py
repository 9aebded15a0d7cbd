"""Language models that answer by a coin, in the mocks of ``inspect_ai``: right with a given share, at a given price."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelCost, ModelInfo, ModelOutput, ModelUsage, get_model, set_model_info
from inspect_ai.scorer import Score, Scorer, Target, includes, mean, scorer
from inspect_ai.solver import TaskState, generate

from caet_opt.adaptors.inspect import Evaluation


class Mock(NamedTuple):
    """How often a model is right, and dollars for a million tokens that it reads and that it writes.

    One that is graded answers by a quarter from 0 to 1, around its share.
    """

    share: float
    reads: float
    writes: float
    graded: bool = False

    def answer(self, draw: float) -> str:
        """What it answers, by a draw from [0, 1)."""
        if self.graded:
            return f"{round(4 * min(1.0, max(0.0, self.share + draw - 0.5))) / 4:g}"
        return "yes" if draw < self.share else "no"


@scorer(metrics=[mean()])  # type: ignore[untyped-decorator]
def number() -> Scorer:
    """The number that an answer is, as the grade that a judge would give."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=float(state.output.completion))

    return score


def mock_model(name: str, mock: Mock) -> Model:
    """A model that answers each question always alike; some answers are longer than others."""

    def answer(messages: Sequence[Any], *_: Any) -> ModelOutput:
        output = ModelOutput.from_content(name, mock.answer(coin(f"{name} {messages[-1].text}")))
        tokens = 40, 10 + int(40 * coin(f"length {messages[-1].text}"))
        output.usage = ModelUsage(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens))
        return output

    cost = ModelCost(input=mock.reads, output=mock.writes, input_cache_read=0.0, input_cache_write=0.0)
    set_model_info(f"mockllm/{name}", ModelInfo(cost=cost))
    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def coin(text: str) -> float:
    """A number in [0, 1) that looks random and depends on a text alone."""
    return float(int(sha256(text.encode()).hexdigest()[:13], 16) / 16**13)


def questions(number: int) -> MemoryDataset:
    """Questions whose answer is yes."""
    return MemoryDataset([Sample(id=one, input=f"question {one}", target="yes") for one in range(number)])


def evaluate(
    mocks: Mapping[str, Mock],
    samples: MemoryDataset,
    folder: Path,
    evaluation: Evaluation | None = None,
    **options: Any,
) -> list[EvalLog]:
    """Inspect's own ``eval`` of the models, each on all the samples, or on those that an evaluation asks for."""
    tasks = [
        Task(
            name=name,
            dataset=samples,
            solver=generate(),
            scorer=number() if mock.graded else includes(),
            model=mock_model(name, mock),
            early_stopping=None if evaluation is None else evaluation.arm(name),
        )
        for name, mock in mocks.items()
    ]
    told: dict[str, Any] = {"max_tasks": len(tasks), "display": "none", "log_dir": str(folder), "log_realtime": False}
    logs: list[EvalLog] = eval(tasks, **(told | options))
    return logs


def start(path: Path, mocks: Mapping[str, Mock], family: str = "bernoulli", **settings: Any) -> Evaluation:
    """Which of these models is best; costs are observed unless they are told."""
    told: dict[str, Any] = {"arms": list(mocks), "delta": 0.05}
    return Evaluation.open_or_start(path, "best-arm", family, **(told | settings))


class Bill(NamedTuple):
    """Calls that were made, and dollars that they cost."""

    calls: int
    dollars: float


def bill(logs: Sequence[EvalLog]) -> Bill:
    """What evaluations cost, by inspect's own count of tokens."""
    used = [usage for log in logs for usage in log.stats.model_usage.values()]
    calls = sum(log.results.completed_samples for log in logs if log.results is not None)
    return Bill(calls, float(sum(one.total_cost or 0.0 for one in used)))
