"""Where an answer comes from: a sentence of the documents that says it, named after the fact.

An answer that a model gives without a citation gets one here, by the words that it shares with the
sentence, as in post-hoc attribution (Gao et al. 2023, "RARR"); it is a guess, and scored as one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from harness.rag.retrieve import Document
from harness.rag.retrieve.sentences import sentence_spans
from harness.rag.retrieve.tokens import words
from harness.rag.tasks.reading import split_citations
from harness.rag.tools.passages import Passage

LONGEST = 200_000
"""Characters of all documents above which no citation is looked for."""


def attribute(answer: str, question: str, documents: Sequence[Document]) -> str:
    """The answer with a citation behind it; unchanged if it has one, or no sentence holds it.

    A sentence must hold all words of the answer; among several, the one decides that shares the
    rarest words with the question.

    Args:
        answer: what the model said.
        question: what was asked.
        documents: where the answer may stand.
    """
    plain, cited = split_citations(answer)
    wanted = Counter(words(plain))
    size = sum(len(document.text) for document in documents)
    if cited or not wanted or size > LONGEST:
        return answer
    asked = set(words(question)) - set(wanted)
    sentences = [
        Passage(document.id, start, end, document.text[start:end], 0.0)
        for document in documents
        for start, end in sentence_spans(document.text, "en")
    ]
    counted = [(one, Counter(words(one.text))) for one in sentences]
    holding = [(one, count) for one, count in counted if count >= wanted]
    if not holding:
        return answer
    frequency = Counter(word for _, count in counted for word in set(count) & asked)
    rarity = {word: math.log(1 + len(counted) / frequency[word]) for word in frequency}
    best = max(holding, key=lambda pair: sum(rarity[word] for word in asked & set(pair[1])))
    return f"{answer} {best[0].citation}"
