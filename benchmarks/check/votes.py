"""Is the agreement of votes a probability? Calibration of `--votes K`.

    python -m benchmarks.check.votes --simulated 0.3 0.2
    python -m benchmarks.check.votes --model local/smollm2-135m --documents 5 --votes 5
    python -m benchmarks.check.votes --model openai/NAME --base-url URL

A Checker is asked the same blind request K times, at a temperature and with other seeds; what the
first 1, 3, 5, ... samples say is put to the vote as `harness check --votes` does. The verdict is
right if it is SUPPORTED for a true claim, or another for a false one; ties and unreadable replies
have none. Expected calibration error: mean distance between confidence and share of right verdicts
over the values that the confidence takes (few, so that no bins are needed), each by its number of
claims. `fitted`: the same after a logistic curve through the other documents' claims (five folds).
The SIMULATED Checkers look values up, waver (another value by chance, in every sample anew) and are
wrong for good (another value by question, in every sample): they show what votes can tell, and
nothing about models. Results are added to `--out`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.check.blindness import checker, claims_of
from benchmarks.check.blindness_cases import Case, generated, simulated
from benchmarks.reports import add_run, option, read_options
from harness.models import CallStore, ChatModel, Sampling
from harness.rag.check.blind import (
    BlindRequest,
    answers_format,
    blinded,
    compare,
    read_answers,
    vote,
)
from harness.rag.check.types import Finding, Verdict

Floats = NDArray[np.float64]
FOLDS = 5


def calibrated(
    scores: NDArray[np.float64], supported: NDArray[np.bool_], unseen: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities of other scores, by a logistic curve through these (Platt 1999)."""
    model = import_module("sklearn.linear_model").LogisticRegression(C=1.0)
    fitted = model.fit(scores[:, None], supported)
    return fitted.predict_proba(unseen[:, None])[:, 1]


class Voted(NamedTuple):
    """A claim with the findings of all samples, in their order."""

    document: str
    true: bool
    findings: Sequence[Finding]


async def asked(case: Case, model: ChatModel, votes: int, temperature: float) -> list[Voted]:
    """Every claim of a case, so many times."""
    labelled = claims_of(case)
    findings: dict[int, list[Finding]] = defaultdict(list)
    places = {id(claim): number for number, (claim, _) in enumerate(labelled)}
    for group in blinded([claim for claim, _ in labelled], case.answer).groups:
        count = len(group.questions)
        request = BlindRequest(group.questions, (case.document.text,)).messages()
        for seed in range(votes):
            sampling = Sampling(temperature=temperature, seed=seed, max_tokens=120 * count + 60)
            reply = await model.complete(
                request, sampling=sampling, response_format=answers_format(model, count)
            )
            answers = read_answers(reply.text, count)
            for claim, answer in zip(group.claims, answers, strict=True):
                findings[places[id(claim)]].append(compare(claim, answer, [case.document]))
    return [
        Voted(case.document.id, labelled[number][1], own)
        for number, own in sorted(findings.items())
    ]


def summary(claims: Sequence[Voted], votes: int) -> dict[str, Any]:
    """Calibration of the first so many votes."""
    voted = [(claim, vote(claim.findings[:votes])) for claim in claims]
    decided = [
        (claim, verdict) for claim, verdict in voted if verdict.verdict is not Verdict.INVALID
    ]
    result: dict[str, Any] = {
        "claims": len(voted),
        "without_verdict": round(1 - len(decided) / max(1, len(voted)), 4),
    }
    if not decided:
        return result
    sure = np.array([verdict.confidence for _, verdict in decided])
    right = np.array(
        [(verdict.verdict is Verdict.SUPPORTED) == claim.true for claim, verdict in decided]
    )
    documents = np.array([claim.document for claim, _ in decided])
    high = sure >= 0.8
    return result | {
        "right": round(float(right.mean()), 4),
        "confidence": round(float(sure.mean()), 4),
        "calibration_error": error(sure, right),
        "fitted": error(fitted(sure, right, documents), right),
        "right_from_confidence_0.8": round(float(right[high].mean()), 4) if high.any() else None,
        "share_from_confidence_0.8": round(float(high.mean()), 4),
    }


def error(sure: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float:
    """Expected calibration error over the values that the confidence takes."""
    gaps = 0.0
    rounded = np.round(sure, 2)
    for value in np.unique(rounded):
        own = rounded == value
        gaps += float(own.sum()) * abs(float(sure[own].mean() - right[own].mean()))
    return round(gaps / len(sure), 4)


def fitted(
    sure: np.ndarray[Any, Any], right: np.ndarray[Any, Any], documents: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Confidences after a logistic curve through those of other documents."""
    every = {name: number % FOLDS for number, name in enumerate(sorted(set(documents.tolist())))}
    folds = np.array([every[document] for document in documents.tolist()])
    probabilities = np.zeros(len(sure))
    for fold in range(FOLDS):
        inside, outside = folds != fold, folds == fold
        if right[inside].all() or not right[inside].any():
            probabilities[outside] = float(right[inside].mean())
        elif outside.any():
            probabilities[outside] = calibrated(sure[inside], right[inside], sure[outside])
    return probabilities


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """One Checker over all notes."""
    cases = list(generated(options.documents, options.seed))
    label, app = options.model, None
    if options.simulated is not None:
        wavering, wrong = options.simulated
        label = f"SIMULATED (wavers {wavering:g}, wrong for good {wrong:g})"
        app = simulated(0.0, wrong, wavering=wavering)
    async with checker(options, app, None if app else CallStore(options.calls)) as model:
        claims = [
            claim
            for case in cases
            for claim in await asked(case, model, options.votes, options.temperature)
        ]
    counts = [count for count in (1, 3, 5, 9, 15) if count <= options.votes]
    return {
        "model": label,
        "documents": len(cases),
        "temperature": options.temperature,
        "seed": options.seed,
        "votes": {str(count): summary(claims, count) for count in counts},
    }


def main() -> None:
    """Ask, and add the result to the file."""
    options = read_options(
        __doc__,
        model="local/smollm2-135m",
        base_url=option(),
        simulated=option(
            type=float,
            nargs=2,
            metavar="P",
            help="a Checker that wavers in a sample, or is wrong in all, by these chances",
        ),
        documents=60,
        votes=9,
        temperature=0.7,
        seed=7,
        calls=option(type=Path, help="keeps answered calls"),
        out=Path("evals/results/check_votes.json"),
    )
    result = asyncio.run(run(options))
    add_run(result, options.out, "model", command="python -m benchmarks.check.votes")


if __name__ == "__main__":
    main()
