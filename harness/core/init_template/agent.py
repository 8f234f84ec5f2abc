"""An agent that imports nothing of the harness: one chat request.

`--agent py:agent.py:answer` calls the function below, in a process of its own for every task.
It reads OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL, which the harness sets. As a command:
python3 agent.py PROMPT WORKDIR [SKILL_DIR]
"""

import json
import os
import sys
import urllib.request
from pathlib import Path


def answer(prompt: str, workdir: str, skill: str | None = None) -> str:
    """Answer one task, with the files of its work folder and, if there is one, the skill."""
    files = [path for path in sorted(Path(workdir).iterdir()) if path.suffix in {".csv", ".txt"}]
    context = "\n\n".join(f"{path.name}:\n{path.read_text()}" for path in files)
    messages = [{"role": "user", "content": f"{context}\n\n{prompt}"}]
    if skill:
        messages.insert(0, {"role": "system", "content": Path(skill, "SKILL.md").read_text()})
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions",
        data=json.dumps(
            {
                "model": os.environ.get("OPENAI_MODEL", "default"),
                "messages": messages,
                "temperature": 0,
                "max_tokens": 64,
            }
        ).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}",
        },
    )
    with urllib.request.urlopen(request) as response:  # --time-limit ends it
        return str(json.load(response)["choices"][0]["message"]["content"]).strip()


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
