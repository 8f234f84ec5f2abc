"""Verdicts as rewards for training (MARCH, arXiv 2603.24579, section 4).

A reward is a scalar of a whole response. A trainer that pads responses to one length must put it
on the last *valid* token, as verl's managers do: on the last padded position it is masked away, and
no advantage is left.
"""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from harness.core import BadInput, without_thoughts
from harness.rag.check.checking import LEAST_COVERAGE, check
from harness.rag.check.types import Outcome, PolicyName, Report

RewardName = Literal["ztr", "err", "scaled"]
# Of the error-rate reward, as released.
_ERROR_COST, _MOST_ERRORS = 0.1, 13


def reward(report: Report, name: RewardName = "ztr") -> float | None:
    """The reward of a response, 0 at best and at least -1.3.

    Args:
        report: of the response.
        name: `ztr` (zero tolerance): -1 if any claim fails, else 0. `err`: -0.1 for each failing
            claim, at most 13 of them. `scaled`: minus the share of failing claims.

    Returns:
        None where there is no verdict (outcome `INVALID`): such a response teaches nothing. An
        answer of which too little was checked gets -1 by `ztr` and `scaled`, so that claims that
        nobody asked about do not pay; an answer that claims nothing gets 0, as in the paper.
    """
    if name not in get_args(RewardName):
        raise BadInput(f"expected a reward ({', '.join(get_args(RewardName))}), got {name!r}")
    if report.verdict is Outcome.INVALID:
        return None
    if not report.claims:
        return 0.0
    wrong = len(report.faults)
    if name == "err":
        return -_ERROR_COST * min(wrong, _MOST_ERRORS)
    if report.coverage < LEAST_COVERAGE:
        return -1.0
    if name == "scaled":
        return -wrong / len(report.claims)
    return -1.0 if wrong else 0.0


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: dict[str, Any] | None = None,
    **settings: object,
) -> float:
    """Reward function in verl's form: the response against `extra_info["documents"]`, no model.

    For `reward.custom_reward_function` (path `pkg://harness.rag.check.rewards`), whose
    `reward_kwargs` are the settings; `evals/paper/verl/march.yaml` is a whole configuration.
    verl's managers put the result on the last valid token.

    Args:
        data_source: not used.
        solution_str: the response; its thoughts are left out.
        ground_truth: not used: the documents decide.
        extra_info: `documents` (texts) and, if known, `question`.
        settings: `reward` (default `ztr`), `policy` and `verifier` (default `rules`).

    Raises:
        BadInput: if there are no documents.
    """
    info = extra_info or {}
    documents = [str(text) for text in info.get("documents", ())]
    if not documents:
        raise BadInput("extra_info: expected `documents`, the texts that a response rests on")
    answer = without_thoughts(solution_str).strip()
    if not answer:
        return 0.0
    report = check(
        answer,
        documents,
        question=str(info.get("question", "")),
        policy=cast("PolicyName", settings.get("policy", "zero-tolerance")),
        verifier=str(settings.get("verifier", "rules")),
    )
    return reward(report, cast("RewardName", settings.get("reward", "ztr"))) or 0.0
