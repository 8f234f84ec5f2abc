"""vLLM's own serving benchmark on the prompts of recorded chat requests; run by vLLM's Python.

    $HARNESS_VLLM_PYTHON benchmarks/serving/vllm_bench.py BODIES TOKENIZER TEMPLATE ROOT NAME SLOTS

BODIES is a JSON list of requests. Their messages are rendered with the chat template, so that the
completions of `vllm bench serve` get the same tokens. (Called as functions: its command does not
start in the CPU build.) The last line printed is the result, as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any


def prompts(bodies: list[dict[str, Any]], tokenizer: str, template: str) -> list[dict[str, Any]]:
    """Rows of vLLM's custom data set."""
    rendering: Any = import_module("transformers").AutoTokenizer.from_pretrained(tokenizer)
    return [
        {
            "prompt": rendering.apply_chat_template(
                body["messages"], chat_template=template, tokenize=False, add_generation_prompt=True
            ),
            "output_tokens": body["max_tokens"],
        }
        for body in bodies
    ]


def main(bodies: str, tokenizer: str, template: str, root: str, name: str, slots: str) -> None:
    """Run the benchmark and print its figures."""
    serve: Any = import_module("vllm.benchmarks.serve")
    parsing: Any = import_module("vllm.utils.argparse_utils")
    rows = prompts(json.loads(Path(bodies).read_text()), tokenizer, Path(template).read_text())
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
        stream.flush()
        parser = parsing.FlexibleArgumentParser()
        serve.add_cli_args(parser)
        result = serve.main(
            parser.parse_args(
                [
                    "--backend", "openai", "--base-url", root, "--endpoint", "/v1/completions",
                    "--model", name, "--tokenizer", tokenizer, "--dataset-name", "custom",
                    "--dataset-path", stream.name, "--custom-output-len", "-1",
                    "--skip-chat-template", "--disable-shuffle", "--ignore-eos",
                    "--num-prompts", str(len(rows)), "--max-concurrency", slots,
                    "--temperature", "0", "--disable-tqdm",
                ]
            )
        )  # fmt: skip
    fields = ("duration", "completed", "total_input_tokens", "total_output_tokens")
    print(json.dumps({key: result[key] for key in fields}))


if __name__ == "__main__":
    main(*sys.argv[1:])
