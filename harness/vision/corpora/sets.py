"""Public sets of visual questions: documents, charts, tables, scenes, science."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from harness.core import digest
from harness.corpora.loaders.rows import Row
from harness.vision.corpora.question import VisualQuestion
from harness.vision.corpora.records import image_at, read_questions


def docvqa(path: Path) -> Iterator[VisualQuestion]:
    """DocVQA (Mathew et al. 2021), its JSON; images in `documents/` beside it.

    Raises:
        BadInput: if the file or a record has another form, or an image is missing.
    """
    return read_questions(path, _docvqa, "DocVQA")


def infographicvqa(path: Path) -> Iterator[VisualQuestion]:
    """InfographicVQA (Mathew et al. 2022), its JSON; images in `images/` or beside it.

    Raises:
        BadInput: as :func:`docvqa`.
    """
    return read_questions(path, _infographic, "InfographicVQA")


def textvqa(path: Path) -> Iterator[VisualQuestion]:
    """TextVQA (Singh et al. 2019), its JSON; images in `train_images/` or `images/`.

    Raises:
        BadInput: as :func:`docvqa`.
    """
    return read_questions(path, _textvqa, "TextVQA")


def chartqa(path: Path) -> Iterator[VisualQuestion]:
    """ChartQA (Masry et al. 2022), its JSON; images in `png/` beside it.

    Raises:
        BadInput: as :func:`docvqa`.
    """
    return read_questions(path, _chartqa, "ChartQA")


def tabmwp(path: Path) -> Iterator[VisualQuestion]:
    """TabMWP (Lu et al. 2023), its JSON; images in `tables/` beside it.

    Raises:
        BadInput: as :func:`docvqa`.
    """
    return read_questions(path, lambda row, folder: [tabmwp_question(row, folder)], "TabMWP")


def mathvista(path: Path) -> Iterator[VisualQuestion]:
    """MathVista (Lu et al. 2024), its JSON; rows whose image is absent keep their text alone.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_questions(path, lambda row, folder: [mathvista_question(row, folder)], "MathVista")


def scienceqa(path: Path) -> Iterator[VisualQuestion]:
    """ScienceQA (Lu et al. 2022), `problems.json`; images in `images/<split>/<id>/`.

    Questions without an image are passed over.

    Raises:
        BadInput: as :func:`docvqa`.
    """
    return read_questions(path, _scienceqa, "ScienceQA")


def sroie(path: Path) -> Iterator[VisualQuestion]:
    """SROIE (Huang et al. 2019), one JSON row a receipt with its `key`; images in `img/`.

    Every receipt gives one question for all fields (task 3).

    Raises:
        BadInput: as :func:`docvqa`.
    """
    return read_questions(path, _sroie, "SROIE")


def tabmwp_question(row: Row, folder: Path) -> VisualQuestion:
    """The question of one TabMWP record."""
    name = row.get("id") or row["pid"]
    image = image_at(folder, row.get("_image"), f"tables/{name}.png", f"{name}.png")
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
    named = [one for one in (row.get("_image"), row.get("image")) if one]
    images = [folder / one for one in named if (folder / one).is_file()][:1]
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


def _docvqa(row: Row, folder: Path) -> Iterator[VisualQuestion]:
    image = image_at(folder, row.get("_image"), row["image"], f"documents/{row['image']}")
    kinds: list[str] = row.get("question_types") or []
    yield _about(f"docvqa-{row['questionId']}", row, row["answers"], "anls", image, kinds)


def _infographic(row: Row, folder: Path) -> Iterator[VisualQuestion]:
    name = row["image_local_name"]
    image = image_at(folder, row.get("_image"), name, f"images/{name}")
    kinds: list[str] = row.get("operation/reasoning") or row.get("answer_type") or []
    yield _about(f"infographicvqa-{row['questionId']}", row, row["answers"], "anls", image, kinds)


def _textvqa(row: Row, folder: Path) -> Iterator[VisualQuestion]:
    name = f"{row['image_id']}.jpg"
    image = image_at(folder, row.get("_image"), f"train_images/{name}", f"images/{name}", name)
    yield _about(f"textvqa-{row['question_id']}", row, row["answers"], "consensus", image, [])


def _chartqa(row: Row, folder: Path) -> Iterator[VisualQuestion]:
    name = row["imgname"]
    image = image_at(folder, row.get("_image"), f"png/{name}", f"../png/{name}", name)
    kinds = [one for one in (row.get("generation"), row.get("question_type")) if one]
    stem = Path(name).stem
    number = digest(row["query"])[:8]  # the set has no ids
    asked = {**row, "question": row["query"]}
    yield _about(f"chartqa-{stem}-{number}", asked, [row["label"]], "relaxed", image, kinds)


def _scienceqa(row: Row, folder: Path) -> Iterator[VisualQuestion]:
    if not row.get("image"):
        return
    name, split = row["id"], row.get("split", "test")
    image = image_at(folder, row.get("_image"), f"images/{split}/{name}/{row['image']}",
                     f"{split}/{name}/{row['image']}")  # fmt: skip
    hint = row.get("hint")
    yield VisualQuestion(
        id=f"scienceqa-{name}",
        question=f"{hint}\n{row['question']}" if hint else row["question"],
        answers=(chr(ord("A") + int(row["answer"])),),
        metric="choice",
        images=(image,),
        choices=tuple(row["choices"]),
        meta={"stratum": row.get("subject", "scienceqa")},
    )


def _sroie(row: Row, folder: Path) -> Iterator[VisualQuestion]:
    name, key = row["id"], dict(row["key"])
    image = image_at(folder, row.get("_image"), f"img/{name}.jpg", f"{name}.jpg")
    yield VisualQuestion(
        id=f"sroie-{name}",
        question=f"Which {', '.join(key)} stand on this receipt? Copy each as it is printed.",
        answers=(json.dumps(key),),
        metric="fields",
        images=(image,),
        meta={"stratum": "sroie"},
    )


def _about(
    name: str, row: Row, answers: list[object], metric: str, image: Path, kinds: list[str]
) -> VisualQuestion:
    """A question of one image whose answers are texts."""
    return VisualQuestion.model_validate(
        {
            "id": name,
            "question": row["question"],
            "answers": tuple(dict.fromkeys(map(str, answers)))
            if metric != "consensus"
            else tuple(map(str, answers)),
            "metric": metric,
            "images": (image,),
            "meta": {"stratum": " and ".join(kinds) or name.partition("-")[0]},
        }
    )
