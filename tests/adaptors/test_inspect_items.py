"""Which question a sample is: the same in every checkout and every process, and another one where anything differs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_ai")

from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    ContentAudio,
    ContentDocument,
    ContentImage,
    ContentText,
    ContentVideo,
)
from inspect_ai.util import SandboxEnvironmentSpec
from pydantic import BaseModel

from caet_opt import InputError
from caet_opt.adaptors.inspect_items import name_item


def item(**parts):
    return name_item(Sample(**({"input": "why?", "target": "so"} | parts)))


def checkouts(tmp_path, name, *texts):
    """Paths of a file in several checkouts, with these contents."""
    for number, text in enumerate(texts):
        path = tmp_path / str(number) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        yield str(path)


MEDIA = [
    lambda path: ContentImage(image=path),
    lambda path: ContentAudio(audio=path, format="mp3"),
    lambda path: ContentVideo(video=path, format="mp4"),
    lambda path: ContentDocument(document=path),
]
PLACES = [
    lambda path: {"files": {"a.txt": path}},
    lambda path: {"files": {"a.txt": f"file://{path}"}},
    lambda path: {"setup": path},
    lambda path: {"sandbox": ("docker", path)},
    *(lambda path, make=make: {"input": [ChatMessageUser(content=[make(path)])]} for make in MEDIA),
]


@pytest.mark.parametrize("place", PLACES)
def test_local_files_count_by_their_content_wherever_they_are(tmp_path, place):
    one, same, other = checkouts(tmp_path, "file.txt", "a", "a", "b")
    assert item(**place(one)) == item(**place(same)) != item(**place(other))


def test_folders_count_by_their_files(tmp_path):
    [*checkouts(tmp_path, "files/deep/x.txt", "a", "a", "b", "a")]
    (tmp_path / "3/files/more.txt").write_text("a")
    one, same, other, more = (item(files={"f": str(tmp_path / number / "files")}) for number in "0123")
    assert one == same
    assert len({one, other, more}) == 3


def test_a_file_that_is_changed_is_another_question(tmp_path):
    (path,) = checkouts(tmp_path, "file.txt", "a")
    before = item(files={"f": path})
    [*checkouts(tmp_path, "file.txt", "longer")]
    assert item(files={"f": path}) != before


def test_texts_that_are_no_paths_stay_themselves(tmp_path):
    """Contents of files, scripts, addresses, and texts that no path can be."""
    texts = ["", "x", "x\ny", "a\0b", "x" * 100_000, "https://example.org/x", "data:text/plain,x", str(tmp_path / "no")]
    for place in PLACES[2], PLACES[0]:
        assert len({item(**place(text)) for text in texts}) == len(texts)


def test_a_data_set_of_another_checkout_has_the_same_questions(tmp_path):
    """Inspect makes the paths of its files absolute."""
    [*checkouts(tmp_path, "a.txt", "a", "a")]
    sets = [*checkouts(tmp_path, "d.jsonl", *['{"input": "why?", "files": {"a": "a.txt"}, "setup": "a.txt"}'] * 2)]
    one, other = (json_dataset(path)[0] for path in sets)
    assert one.files != other.files
    assert name_item(one) == name_item(other)


def test_sandboxes_are_part_of_the_question():
    class Config(BaseModel):
        image: str

    told = [None, "docker", ("docker", "a/compose.yaml"), ("docker", "b/compose.yaml"), ("k8s", "a/compose.yaml")]
    configs = [SandboxEnvironmentSpec("docker", Config(image=image)) for image in "ab"]
    assert len({item(sandbox=one) for one in (*told, *configs)}) == 7
    assert item(sandbox=configs[0]) == item(sandbox=SandboxEnvironmentSpec("docker", Config(image="a")))


class History(BaseModel):
    messages: list[Any]
    id: int = 0


@dataclass
class Grid:
    cells: Any


def test_ids_of_messages_are_left_out_wherever_they_are():
    """Inspect draws them anew; ids of other things are part of the question."""

    def histories(text="x", number=0):
        messages = [ChatMessageUser(content=text), ChatMessageAssistant(content=[ContentText(text="y")])]
        return [messages, {"deep": messages}, History(messages=messages, id=number), Grid(messages)]

    for one, same, other in zip(histories(), histories(), histories("z"), strict=True):
        assert item(metadata={"h": one}) == item(metadata={"h": same}) != item(metadata={"h": other})
    assert item(metadata={"h": histories()[2]}) != item(metadata={"h": histories(number=1)[2]})


@pytest.mark.parametrize("wrap", [lambda array: array, Grid, lambda array: History(messages=[array]), lambda a: {1: a}])
def test_arrays_count_in_full(wrap):
    """Their repr leaves out the middle."""

    def grid(middle):
        return wrap(np.array([0] * 5000 + [middle] + [0] * 5000))

    assert item(metadata={"g": grid(1)}) == item(metadata={"g": grid(1)}) != item(metadata={"g": grid(2)})


def test_other_values_are_told_apart():
    values = [1, np.int64(2), np.float64(0.5), np.longdouble(3), np.ndarray, Grid, {1, 2}, b"x", np.array("y")]
    assert len({item(metadata={"a": value}) for value in values}) == len(values)


def test_an_item_that_says_nothing_is_refused():
    with pytest.raises(InputError, match=r"item=... returns None for sample 7; return what tells questions"):
        name_item(Sample(id=7, input="a"), lambda sample: None)
