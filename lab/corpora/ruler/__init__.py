"""RULER of our own: the parameters of the public benchmark, with varied fillers and templates.

Hsieh et al. 2024 (arXiv 2404.06654), and the retrieval tasks of InfiniteBench. Document, question
and reply together have the length that is asked for, in tokens of the packaged tokenizer. Every
sample says where its evidence stands and carries two instructions for a compressor: `unhinted`,
and `hinted` with the templates of the needles. No compressor may be trained on what stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random

from harness.core import BadInput
from harness.corpora import Reading
from lab.corpora.ruler import niah
from lab.corpora.ruler.answering import answering
from lab.corpora.ruler.chains import chain_reading
from lab.corpora.ruler.counting import common_words, frequent_words
from lab.corpora.ruler.infinite import key_value, number_string, passkey

# Length in tokens, chance and id to a sample.
Maker = Callable[[int, Random, str], Reading]

NIAH = tuple(niah.TASKS)
INFINITE: dict[str, Maker] = {"passkey": passkey, "number": number_string, "kv": key_value}
TASKS: dict[str, Maker] = {
    **{name: partial(niah.needles_reading, name) for name in NIAH},
    "vt": chain_reading,
    "cwe": common_words,
    "fwe": frequent_words,
    "qa_1": partial(answering, 1),
    "qa_2": partial(answering, 2),
    **INFINITE,
}
LENGTHS = {f"{size}k": size * 1024 for size in (4, 8, 16, 32, 64, 128, 256, 512)} | {"1m": 1 << 20}
SEED = 20261121


def ruler_reading(
    task: str, length: int, number: int = 0, split: str = "test", seed: int = SEED
) -> Reading:
    """One sample; the same arguments give the same sample.

    Args:
        task: one of :data:`TASKS`.
        length: tokens, at least 1,024 (4,096 for cwe, whose common words alone take half of it).
        number: which sample of the split.
        split: train, selection or test.
        seed: another seed gives another set.

    Raises:
        BadInput: for another task, or a length that is too small.
    """
    least = 4096 if task == "cwe" else 1024
    if task not in TASKS or length < least:
        raise BadInput(
            f"expected a task of {', '.join(TASKS)} and a length of at least {least} tokens, "
            f"got {task!r} and {length!r}"
        )
    name = f"ruler-{length}-{split}-{task}-{number:03}"
    reading = TASKS[task](length, Random(f"{seed}:{name}"), name)
    return reading.model_copy(update={"meta": {**reading.meta, "stratum": task, "length": length}})


def ruler_readings(
    length: int,
    split: str = "test",
    samples: int | None = None,
    tasks: Sequence[str] = tuple(TASKS),
    seed: int = SEED,
) -> Iterator[Reading]:
    """Samples of a split, tasks in turn; made one by one, as they are asked for.

    Args:
        length: tokens of a sample.
        split: train, selection or test.
        samples: per task; default :func:`split_size`.
        tasks: names of :data:`TASKS`.
        seed: of the set.

    Raises:
        BadInput: as :func:`ruler_reading`.
    """
    for number in range(samples or split_size(split, length)):
        for task in tasks:
            yield ruler_reading(task, length, number, split, seed)


def boundary_readings(
    boundary: int, radius: int, length: int, seed: int = SEED, step: int = 1
) -> Iterator[Reading]:
    """A needle that begins at every token from `boundary - radius` to `boundary + radius`.

    A compressor that reads in windows must find them all, however they lie across its windows.

    Args:
        boundary: token at which a window ends.
        radius: tokens before and behind it.
        length: tokens of a sample.
        seed: of the set.
        step: tokens from one sample to the next.

    Raises:
        BadInput: if the range does not lie in the document.
    """
    if not 0 <= boundary - radius <= boundary + radius < length - 2 * niah.REPLY:
        raise BadInput(
            f"expected a boundary and a radius inside {length} tokens, got {boundary}, {radius}"
        )
    for token in range(boundary - radius, boundary + radius + 1, step):
        name = f"ruler-boundary-{length}-{token}"
        chance = Random(f"{seed}:{name}")
        reading = niah.needles_reading("niah_single_2", length, chance, name, token=token)
        meta = {**reading.meta, "stratum": "boundary", "token": token}
        yield reading.model_copy(update={"meta": meta})


def split_size(split: str, length: int) -> int:
    """Samples per task: fewer of longer documents, so that a split stays below some 400 MB."""
    test = 20 if length <= LENGTHS["32k"] else 10 if length <= LENGTHS["128k"] else 4
    return test if split == "test" else test // 2
