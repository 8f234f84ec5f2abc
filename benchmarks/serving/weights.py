"""SmolLM2-135M as a folder that vLLM serves, from the GGUF file that `harness models pull` brings.

Needs vLLM's own environment with gguf and accelerate added to it:

    $HARNESS_VLLM_PYTHON benchmarks/serving/weights.py GGUF OUT
"""

from __future__ import annotations

import argparse
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any


def convert(gguf: Path, out: Path) -> Path:
    """Dequantize to bfloat16, with tokenizer and chat template; nothing if `out` is there.

    Returns:
        `out`, which is complete or absent: the work is done beside it.
    """
    if (out / "config.json").is_file():
        return out
    work = out.with_name(f".{out.name}.part")
    shutil.rmtree(work, ignore_errors=True)
    transformers: Any = import_module("transformers")
    torch: Any = import_module("torch")
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    dense = transformers.GgufConfig(dequantize=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        **source, dtype=torch.bfloat16, quantization_config=dense
    )
    model.save_pretrained(work)
    transformers.AutoTokenizer.from_pretrained(**source).save_pretrained(work)
    work.rename(out)
    return out


def main() -> None:
    """Read the arguments, convert, print the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    print(convert(options.gguf, options.out))


if __name__ == "__main__":
    main()
