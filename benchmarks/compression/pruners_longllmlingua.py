"""LongLLMLingua (pip `llmlingua`) with SmolLM2-135M; runs in an environment of its own.

    python -m venv ENV && ENV/bin/pip install llmlingua==0.2.2 transformers==4.46.3 torch gguf
    ENV/bin/python -m benchmarks.compression.pruners_longllmlingua GGUF CASES.jsonl OUT.jsonl

`llmlingua` needs an older transformers than this project. CASES holds id, query, contexts (texts of
the documents) and rate; OUT gets id, rate and the compressed text, and a run that was stopped goes
on. Settings are those that the package recommends for question answering: documents ranked by how
likely the question is behind them, the best first, tokens by the contrast of their likelihood with
and without the question. The rate is asked for; what comes is mostly more, and is what counts.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

RECOMMENDED: dict[str, Any] = {
    "rank_method": "longllmlingua",
    "condition_in_question": "after_condition",
    "condition_compare": True,
    "reorder_context": "sort",
    "dynamic_context_compression_ratio": 0.3,
    "context_budget": "+100",
    "concate_question": False,
}


class WordCounts:
    """Stands in for OpenAI's tokenizer, which the package downloads to report counts.

    Args:
        model: whose tokens would be counted.
    """

    def __init__(self, model: str) -> None:
        self.model = model

    def encode(self, text: str, **_: Any) -> list[str]:
        """Words."""
        return text.split()


def converted(path: Path, folder: Path) -> Path:
    """The GGUF model in the form of transformers; its head is its embeddings, left out in GGUF."""
    if not (folder / "config.json").is_file():
        transformers: Any = import_module("transformers")
        where: dict[str, Any] = {"gguf_file": path.name}
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(str(path.parent), **where)
        model.config.tie_word_embeddings = True
        model.lm_head.weight = model.model.embed_tokens.weight
        model.float().save_pretrained(str(folder), safe_serialization=False)
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(path.parent), **where)
        tokenizer.save_pretrained(str(folder))
    return folder


def main() -> None:
    """Compress every case."""
    model, cases, out = map(Path, sys.argv[1:])
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    tiktoken: Any = import_module("tiktoken")
    tiktoken.encoding_for_model = WordCounts
    folder = str(converted(model, out.parent / "smollm2"))
    compressor: Any = import_module("llmlingua").PromptCompressor(folder, device_map="cpu")
    lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    finished = {json.loads(line)["id"] for line in lines}
    for line in cases.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["id"] in finished:
            continue
        started = time.process_time()
        text = compressor.compress_prompt(
            case["contexts"], question=case["query"], rate=case["rate"], **RECOMMENDED
        )["compressed_prompt"]
        row = {"id": case["id"], "rate": case["rate"], "text": text}
        row["seconds"] = round(time.process_time() - started, 2)
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
