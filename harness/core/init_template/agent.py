"""An agent that imports nothing of the harness: one chat request, answer on stdout.

Usage: python3 agent.py PROMPT WORKDIR [SKILL_DIR]
It reads OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL, which the harness sets.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path


def main() -> None:
    """Answer one task."""
    prompt, workdir = sys.argv[1], Path(sys.argv[2])
    skill = Path(sys.argv[3]) / "SKILL.md" if len(sys.argv) > 3 and sys.argv[3] else None
    files = [path for path in sorted(workdir.iterdir()) if path.suffix in {".csv", ".txt"}]
    context = "\n\n".join(f"{path.name}:\n{path.read_text()}" for path in files)
    messages = [{"role": "user", "content": f"{context}\n\n{prompt}"}]
    if skill is not None and skill.is_file():
        messages.insert(0, {"role": "system", "content": skill.read_text()})
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
    with urllib.request.urlopen(request, timeout=120) as response:
        print(json.load(response)["choices"][0]["message"]["content"].strip())


if __name__ == "__main__":
    main()
