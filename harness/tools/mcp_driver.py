"""One request to an MCP server: which tools it has, or a call of one.

Run as a program inside the sandbox, where it starts the server beside itself; imported for servers
that are reached over HTTP. It knows nothing but the official SDK.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

PAGES = 20
"""Pages of a list of tools that are read."""


async def answer(server: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply of a server.

    Args:
        server: what the SDK's client connects to.
        request: `{"tool": None}` for the list of tools, else a tool and its `arguments`.

    Returns:
        `{"tools": [...]}` with name, description and parameters of each, or `{"text", "error"}`.
    """
    from mcp import Client

    async with Client(server, cache=None) as client:
        if request["tool"] is None:
            tools: list[dict[str, Any]] = []
            cursor = None
            for _ in range(PAGES):
                page = await client.list_tools(cursor=cursor)
                tools += [
                    {
                        "name": tool.name,
                        "description": tool.description or "",
                        "parameters": tool.input_schema,
                    }
                    for tool in page.tools
                ]
                if (cursor := page.next_cursor) is None:
                    break
            return {"tools": tools}
        result = await client.call_tool(request["tool"], request["arguments"])
    texts = [_text(part) for part in result.content]
    if result.structured_content is not None and not _repeats(texts, result.structured_content):
        texts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return {"text": "\n".join(texts), "error": bool(result.is_error)}


def _text(part: Any) -> str:
    """A part of a result as text: embedded text as it stands, and links by their names."""
    if part.type == "text":
        return part.text
    if part.type == "resource_link":
        about = f": {part.description}" if part.description else ""
        return f"[link to {part.name!r}, {part.uri}{about}]"
    if part.type == "resource":
        text = getattr(part.resource, "text", None)
        left_out = "" if text is not None else " left out: it is no text"
        return f"[resource {part.resource.uri}{left_out}]" + (f"\n{text}" if text else "")
    return f"[{part.type} left out]"


def _repeats(texts: list[str], structured: Any) -> bool:
    """Return True if a text is the structured result as JSON, added for old clients."""
    for text in texts:
        try:
            if json.loads(text) in (structured, structured.get("result")):
                return True
        except ValueError:
            pass
    return len(texts) == 1 and texts[0] == structured.get("result")


def main() -> None:
    """Read the request from the file that is named, start the server, print its answer."""
    from mcp import StdioServerParameters

    request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    command, *arguments = request["command"]
    server = StdioServerParameters(command=command, args=arguments)
    print(json.dumps(asyncio.run(answer(server, request))))


if __name__ == "__main__":
    main()
