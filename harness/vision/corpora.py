"""Visual question answering: loaders of public sets.

| set | source | images beside its file |
|---|---|---|
| `docvqa` | Mathew et al. 2021 | `documents/` |
| `infographicvqa` | Mathew et al. 2022 | `images/`, or beside it |
| `textvqa` | Singh et al. 2019 | `train_images/` or `images/` |
| `chartqa` | Masry et al. 2022 | `png/` |
| `tabmwp` | Lu et al. 2023 | `tables/` |
| `mathvista` | Lu et al. 2024 | where the rows say; rows whose image is absent keep their text |
| `scienceqa` | Lu et al. 2022, `problems.json` | `images/<split>/<id>/`; without one: left out |
| `sroie` | Huang et al. 2019, task 3, rows with their `key` | `img/` |
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, Task, digest, read_json
from harness.corpora import Row, load, load_some, read_each, rows_of
from harness.vision.questions import VisualQuestion, write_questions


def load_questions(name: str, path: Path) -> Iterator[VisualQuestion]:
    """The questions of a public set, one by one.

    Args:
        name: of :data:`VISUAL_LOADERS`.
        path: its file; images are looked for beside it.

    Raises:
        BadInput: for another name, or if the file or a record has another form.
    """
    return load(VISUAL_LOADERS, name, path)


def convert_visual(
    name: str, path: Path, out: Path, split: str = "test", limit: int | None = None
) -> list[Task]:
    """Write a public set as a task file with its images, ready for `harness eval`.

    Args:
        name: of :data:`VISUAL_LOADERS`.
        path: as :func:`load_questions`.
        out: folder for `<split>.jsonl` and `images/`.
        split: name of the task file.
        limit: only the first so many questions.

    Raises:
        BadInput: as :func:`load_questions`, or if nothing was found.
    """
    return write_questions(load_some(VISUAL_LOADERS, name, path, limit), out, split)


def _read_questions(
    form: str, read: Callable[[Row, Path], VisualQuestion | None], path: Path
) -> Iterator[VisualQuestion]:
    """The question of every record of a .jsonl or .json file.

    Args:
        form: name of the form, for messages.
        read: a record and the folder of its file to its question, None for a record without one;
            KeyError, TypeError, ValueError and IndexError of it mean another form.
        path: a list, `{"data": list}`, `{id: record}`, or one record per line.

    Raises:
        BadInput: if the file or a record has another form (the record is named).
    """

    def questions(row: Row) -> list[VisualQuestion]:
        question = read(row, path.parent)
        return [] if question is None else [question]

    seen: Counter[str] = Counter()
    for question in read_each(_records(path), questions, form):
        seen[question.id] += 1
        if seen[question.id] == 1:
            yield question
        else:  # sets without ids repeat questions
            yield question.model_copy(update={"id": f"{question.id}-{seen[question.id]}"})


def _records(path: Path) -> Iterator[tuple[str, Row]]:
    value: Any = None
    if path.suffix == ".json" and path.is_file():
        value = read_json(path)
    if not isinstance(value, dict) or "data" in value:
        yield from rows_of(path)
        return
    records: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
    for name, record in records.items():
        if not isinstance(record, dict):
            raise BadInput(f"{path}: record {name!r}: expected an object, found {record!r:.100}")
        yield f"{path}: record {name!r}", {"id": name, **record}


def _image(folder: Path, *candidates: str | None) -> Path:
    """The first of the paths, relative to `folder`, that is a file.

    Raises:
        BadInput: if none is (all are named).
    """
    names = [candidate for candidate in candidates if candidate]
    for candidate in names:
        if (folder / candidate).is_file():
            return folder / candidate
    raise BadInput(f"expected an image at {' or '.join(names)} below {str(folder)!r}, found none")


def tabmwp_question(row: Row, folder: Path) -> VisualQuestion:
    """The question of one TabMWP record."""
    name = row.get("id") or row["pid"]
    image = _image(folder, row.get("_image"), f"tables/{name}.png", f"{name}.png")
    meta: dict[str, JsonValue] = {"unit": row.get("unit"), "stratum": row.get("ans_type", "tabmwp")}
    return VisualQuestion(
        id=f"tabmwp-{name}",
        question=row["question"],
        answers=(str(row["answer"]),),
        metric="tabmwp",
        images=(image,),
        choices=tuple(row.get("choices") or ()),
        meta=meta,
    )


def mathvista_question(row: Row, folder: Path) -> VisualQuestion:
    """The question of one MathVista record."""
    paths = [folder / name for name in (row.get("_image"), row.get("image")) if name]
    images = [path for path in paths if path.is_file()][:1]
    precision = row.get("precision")
    meta: dict[str, JsonValue] = {
        "unit": row.get("unit"),
        "precision": None if precision is None else float(precision),
        "answer_type": row.get("answer_type", "text"),
        "stratum": row.get("source", "mathvista"),
    }
    free = row.get("question_type") == "free_form"
    return VisualQuestion(
        id=f"mathvista-{row.get('pid') or row['id']}",
        question=row["question"],
        answers=(str(row["answer"]),),
        metric="mathvista",
        images=tuple(images),
        choices=() if free else tuple(map(str, row.get("choices") or ())),
        meta=meta,
    )


def docvqa_question(row: Row, folder: Path) -> VisualQuestion:
    image = _image(folder, row.get("_image"), row["image"], f"documents/{row['image']}")
    kinds = row.get("question_types")
    return _about(f"docvqa-{row['questionId']}", row, row["answers"], "anls", image, kinds)


def infographicvqa_question(row: Row, folder: Path) -> VisualQuestion:
    name = row["image_local_name"]
    image = _image(folder, row.get("_image"), name, f"images/{name}")
    kinds = row.get("operation/reasoning") or row.get("answer_type")
    return _about(f"infographicvqa-{row['questionId']}", row, row["answers"], "anls", image, kinds)


def textvqa_question(row: Row, folder: Path) -> VisualQuestion:
    name = f"{row['image_id']}.jpg"
    image = _image(folder, row.get("_image"), f"train_images/{name}", f"images/{name}", name)
    return _about(f"textvqa-{row['question_id']}", row, row["answers"], "consensus", image)


def chartqa_question(row: Row, folder: Path) -> VisualQuestion:
    name, question = row["imgname"], row["query"]
    image = _image(folder, row.get("_image"), f"png/{name}", f"../png/{name}", name)
    kinds = [kind for kind in (row.get("generation"), row.get("question_type")) if kind]
    id_ = f"chartqa-{Path(name).stem}-{digest(question)[:8]}"  # the set has no ids
    record = {**row, "question": question}
    return _about(id_, record, [row["label"]], "relaxed", image, kinds)


def scienceqa_question(row: Row, folder: Path) -> VisualQuestion | None:
    if not row.get("image"):
        return None
    name, hint = row["id"], row.get("hint")
    file = f"{row.get('split', 'test')}/{name}/{row['image']}"
    return VisualQuestion(
        id=f"scienceqa-{name}",
        question=f"{hint}\n{row['question']}" if hint else row["question"],
        answers=(chr(ord("A") + int(row["answer"])),),
        metric="choice",
        images=(_image(folder, row.get("_image"), f"images/{file}", file),),
        choices=tuple(row["choices"]),
        meta={"stratum": row.get("subject", "scienceqa")},
    )


def sroie_question(row: Row, folder: Path) -> VisualQuestion:
    """One question for all fields of a receipt."""
    name, key = row["id"], dict(row["key"])
    return VisualQuestion(
        id=f"sroie-{name}",
        question=f"Which {', '.join(key)} stand on this receipt? Copy each as it is printed.",
        answers=(json.dumps(key),),
        metric="fields",
        images=(_image(folder, row.get("_image"), f"img/{name}.jpg", f"{name}.jpg"),),
        meta={"stratum": "sroie"},
    )


def _about(
    id_: str,
    row: Row,
    answers: list[object],
    metric: str,
    image: Path,
    kinds: list[str] | None = None,
) -> VisualQuestion:
    """A question of one image whose answers are texts."""
    texts = [str(answer) for answer in answers]
    return VisualQuestion.model_validate(
        {
            "id": id_,
            "question": row["question"],
            "answers": tuple(texts if metric == "consensus" else dict.fromkeys(texts)),
            "metric": metric,
            "images": (image,),
            "meta": {"stratum": " and ".join(kinds or ()) or id_.partition("-")[0]},
        }
    )


VISUAL_LOADERS: dict[str, Callable[[Path], Iterator[VisualQuestion]]] = {
    name: partial(_read_questions, form, read)
    for name, form, read in (
        ("docvqa", "DocVQA", docvqa_question),
        ("infographicvqa", "InfographicVQA", infographicvqa_question),
        ("textvqa", "TextVQA", textvqa_question),
        ("chartqa", "ChartQA", chartqa_question),
        ("tabmwp", "TabMWP", tabmwp_question),
        ("mathvista", "MathVista", mathvista_question),
        ("scienceqa", "ScienceQA", scienceqa_question),
        ("sroie", "SROIE", sroie_question),
    )
}
"""Name of a set -> its loader."""
