"""Is a Checker that has not seen the answer better? The thesis of MARCH, tested.

    python -m benchmarks.check.blindness --model local/smollm2-135m --documents 40
    python -m benchmarks.check.blindness --simulated 0.5
    python -m benchmarks.check.blindness --model openai/NAME --base-url URL --cases tatqa

The same model, documents, questions and judge; the Checker's request is blind, or holds the answer
under check, or each question's claimed value. False acceptance is the share of false claims that
end as SUPPORTED; differences are paired by claim, their intervals by bootstrap over documents.
"Blind helps" is said only where the interval is above 0. Results are added to `--out`; every call
is kept in `--calls`, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.check.blindness_cases import Case, generated, simulated, tatqa
from benchmarks.reports import Options, add_run, benchmark, option
from harness.core import prompt_digest
from harness.models import CallStore, ChatModel, Message, Sampling, open_model, serving
from harness.rag.check.blind import (
    BlindRequest,
    Group,
    answers_format,
    blinded,
    compare,
    read_answers,
)
from harness.rag.check.claims import extract
from harness.rag.check.types import Claim, Verdict
from harness.stats import ratio_interval

if TYPE_CHECKING:
    from starlette.applications import Starlette

ARMS = ("blind", "answer", "claims")
KINDS = ("number", "date", "entity", "cell", "derived")


class Judged(NamedTuple):
    """One claim in one arm."""

    document: str
    claim: int
    true: bool
    arm: str
    verdict: Verdict


def messages(arm: str, group: Group, case: Case) -> list[Message]:
    """The blind request, and what an arm shows beside it."""
    questions = list(group.questions)
    if arm == "claims":
        questions = [
            f"{question} (the answer says: {claim.value})"
            for question, claim in zip(questions, group.claims, strict=True)
        ]
    request = BlindRequest(tuple(questions), (case.document.text,)).messages()
    if arm == "answer":
        shown = f"The answer under check:\n<answer>\n{case.answer}\n</answer>"
        request = [{"role": "user", "content": f"{request[0]['content']}\n\n{shown}"}]
    return request


def claims_of(case: Case) -> list[tuple[Claim, bool]]:
    """The claims at the values that are known to be right or wrong."""
    labelled: list[tuple[Claim, bool]] = []
    claims = [claim for claim in extract(case.answer) if claim.type in KINDS]
    for stated in case.stated:
        overlapping = [
            claim for claim in claims if claim.start < stated.end and stated.start < claim.end
        ]
        if overlapping:
            labelled.append(
                (min(overlapping, key=lambda claim: claim.end - claim.start), stated.true)
            )
    return labelled


async def judged(case: Case, model: ChatModel, slots: asyncio.Semaphore) -> list[Judged]:
    """Every claim of a case in every arm; questions that cannot be asked blindly are in none."""
    labelled = claims_of(case)
    groups = blinded([claim for claim, _ in labelled], case.answer).groups
    places = {id(claim): number for number, (claim, _) in enumerate(labelled)}
    judgements: list[Judged] = []
    for group in groups:
        for arm in ARMS:
            sampling = Sampling(temperature=0.0, seed=0, max_tokens=120 * len(group.questions) + 60)
            async with slots:
                reply = await model.complete(
                    messages(arm, group, case),
                    sampling=sampling,
                    response_format=answers_format(model, len(group.questions)),
                )
            answers = read_answers(reply.text, len(group.questions))
            for claim, answer in zip(group.claims, answers, strict=True):
                number = places[id(claim)]
                verdict = compare(claim, answer, [case.document]).verdict
                judgements.append(
                    Judged(case.document.id, number, labelled[number][1], arm, verdict)
                )
    return judgements


def summary(judgements: Sequence[Judged]) -> dict[str, Any]:
    """Rates of each arm, paired differences to the blind one, and what they allow to say."""
    kinds = {"false_accepted": False, "true_accepted": True}
    arms: dict[str, Any] = {}
    for arm in ARMS:
        mine = [judgement for judgement in judgements if judgement.arm == arm]
        rates: dict[str, float] = {}
        for name, truth in kinds.items():
            verdicts = [judgement.verdict for judgement in mine if judgement.true is truth]
            if verdicts:
                rates[name] = round(verdicts.count(Verdict.SUPPORTED) / len(verdicts), 4)
        if len(rates) == 2:
            right = rates["true_accepted"] + 1 - rates["false_accepted"]
            rates["balanced_accuracy"] = round(right / 2, 4)
        arms[arm] = {**rates, "verdicts": dict(Counter(each.verdict.value for each in mine))}
    places = {(each.document, each.claim, each.true) for each in judgements}
    return {
        "documents": len({document for document, _, _ in places}),
        "claims": {
            "false": sum(not truth for _, _, truth in places),
            "true": sum(truth for _, _, truth in places),
        },
        "arms": arms,
        "seeing_minus_blind": {
            arm: {name: difference(judgements, arm, truth) for name, truth in kinds.items()}
            for arm in ARMS[1:]
        },
    }


def difference(judgements: Sequence[Judged], arm: str, true: bool) -> dict[str, Any]:
    """Acceptance in an arm minus acceptance when blind, over true or false claims."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for judgement in judgements:
        if judgement.true is true and judgement.arm in (arm, "blind"):
            sign = 1 if judgement.arm == arm else -1
            sums[judgement.document][0] += sign * (judgement.verdict is Verdict.SUPPORTED)
            sums[judgement.document][1] += judgement.arm == "blind"
    pairs = [(held[0], held[1]) for held in sums.values()]
    total = sum(count for _, count in pairs)
    if not total:
        return {"difference": None, "ci95": None, "shown": "no such claims"}
    interval = ratio_interval(pairs)
    shown = "nothing"
    if interval is not None and (interval[0] > 0 or interval[1] < 0):
        shown = "seeing accepts more" if interval[0] > 0 else "seeing accepts fewer"
    return {
        "difference": round(sum(value for value, _ in pairs) / total, 4),
        "ci95": [round(end, 4) for end in interval] if interval else None,
        "shown": shown,
    }


@asynccontextmanager
async def checker(
    options: argparse.Namespace, app: Starlette | None, calls: CallStore | None
) -> AsyncGenerator[ChatModel]:
    """The model that is asked: the one of the options, or a SIMULATED one in its place."""
    async with AsyncExitStack() as stack:
        spec, base_url = options.model, options.base_url
        if app is not None:
            spec = "openai/simulated-checker"
            base_url = await stack.enter_async_context(serving(app)) + "/v1"
        model = open_model(spec, base_url=base_url, calls=calls)
        stack.push_async_callback(model.aclose)
        yield model


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """All cases, a few at a time."""
    if options.cases == "tatqa":
        path = options.shared / "data" / "dev" / "tatqa.jsonl"
        cases = list(tatqa(path, options.documents, options.seed))
    else:
        cases = list(generated(options.documents, options.seed, options.facts))
    slots = asyncio.Semaphore(options.concurrency)
    label, app = options.model, None
    if options.simulated is not None:
        label = f"SIMULATED (suggestible {options.simulated:g}, careless {options.careless:g})"
        app = simulated(options.simulated, options.careless)
    async with checker(options, app, CallStore(options.calls)) as model:
        results = await asyncio.gather(*(judged(case, model, slots) for case in cases))
    return {
        "model": label,
        "cases": options.cases,
        "facts": options.facts,
        "seed": options.seed,
        "prompt": prompt_digest("march_check"),
        **summary([judgement for judgements in results for judgement in judgements]),
    }


@benchmark(
    model="local/smollm2-135m",
    base_url=option(),
    simulated=option(type=float, metavar="P", help="agrees with chance P instead"),
    careless=0.1,
    cases=option(choices=("generated", "tatqa"), default="generated"),
    shared=Path("../shared"),
    documents=60,
    facts=option(type=int, default=4, help="of a generated answer"),
    seed=7,
    concurrency=4,
    calls=option(type=Path, help="keeps answered calls"),
    out=Path("evals/results/check_blindness.json"),
)
def main(options: Options) -> None:
    """Run one model over one set of cases and add the result to the file."""
    result = asyncio.run(run(options))
    command = "python -m benchmarks.check.blindness"
    add_run(result, options.out, "model", "cases", "facts", command=command)
