"""Agents as their users write them: programs that import a client library and nothing of ours.

Each asks with a tool, runs it, and asks again with the result; it prints everything that it got.
"""

from __future__ import annotations

TOOL = {
    "name": "look_up",
    "description": "Look a word up.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
}

OPENAI = f"""
import openai
tool = {TOOL!r}
question = {{"role": "user", "content": "What does cairn mean?"}}
client = openai.OpenAI()

def chat():
    tools = [{{"type": "function", "function": tool}}]
    messages = [{{"role": "system", "content": "Be brief."}}, question]
    for turn in range(2):
        got = client.chat.completions.create(model="m", messages=messages, tools=tools)
        print(got.to_json())
        message = got.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or []:
            messages.append({{"role": "tool", "tool_call_id": call.id,
                              "content": "a heap of stones"}})

def chat_stream():
    tools = [{{"type": "function", "function": tool}}]
    messages = [question]
    for turn in range(2):
        text, calls = "", {{}}
        for chunk in client.chat.completions.create(model="m", messages=messages, tools=tools,
                stream=True, stream_options={{"include_usage": True}}):
            print(chunk.to_json(indent=None))
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for piece in choice.delta.tool_calls or []:
                    call = calls.setdefault(piece.index, {{"id": piece.id, "type": "function",
                        "function": {{"name": piece.function.name, "arguments": ""}}}})
                    call["function"]["arguments"] += piece.function.arguments or ""
        messages.append({{"role": "assistant", "content": text}})
        if calls:
            messages[-1]["tool_calls"] = list(calls.values())
        for call in calls.values():
            messages.append({{"role": "tool", "tool_call_id": call["id"],
                              "content": "a heap of stones"}})

def responses(streamed):
    asked = [question]
    for turn in range(2):
        given = dict(model="m", input=asked, tools=[{{"type": "function", **tool}}],
                     instructions="Be brief.")
        if streamed:
            with client.responses.stream(**given) as stream:
                for event in stream:
                    print(event.type, event.to_json(indent=None))
                got = stream.get_final_response()
        else:
            got = client.responses.create(**given)
        print(got.to_json())
        for item in got.output:
            asked.append(item.to_dict(exclude_unset=True))
            if item.type == "function_call":
                asked.append({{"type": "function_call_output", "call_id": item.call_id,
                               "output": "a heap of stones"}})
    print(got.output_text)

chat()
chat_stream()
responses(False)
responses(True)
print([model.id for model in client.models.list()])
"""

ANTHROPIC = f"""
import anthropic
tool = {TOOL!r}
tools = [{{"name": tool["name"], "description": tool["description"],
           "input_schema": tool["parameters"]}}]
client = anthropic.Anthropic()
for streamed in (False, True):
    messages = [{{"role": "user", "content": "What does cairn mean?"}}]
    for turn in range(2):
        asked = dict(model="m", max_tokens=99, system="Be brief.", messages=messages, tools=tools)
        if streamed:
            with client.messages.stream(**asked) as stream:
                for event in stream:
                    print(event.type, event.to_json(indent=None))
                got = stream.get_final_message()
        else:
            got = client.messages.create(**asked)
        print(got.to_json())
        messages.append({{"role": "assistant", "content": [b.to_dict() for b in got.content]}})
        results = [{{"type": "tool_result", "tool_use_id": b.id, "content": "a heap of stones"}}
                   for b in got.content if b.type == "tool_use"]
        if results:
            messages.append({{"role": "user", "content": results}})
"""

LANGCHAIN = """
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

@tool
def look_up(word: str) -> str:
    "Look a word up."
    return "a heap of stones"

def ask(streamed, responses):
    model = ChatOpenAI(model="m", use_responses_api=responses).bind_tools([look_up])
    messages = [HumanMessage("What does cairn mean?")]
    for turn in range(2):
        if streamed:
            got = None
            for chunk in model.stream(messages):
                print(chunk.content)
                got = chunk if got is None else got + chunk
        else:
            got = model.invoke(messages)
        print(got.content, got.tool_calls, got.response_metadata, got.usage_metadata)
        messages.append(got)
        for call in got.tool_calls:
            messages.append(look_up.invoke(call))

ask(False, False)
ask(True, False)
ask(True, True)
"""

CURL = """
set -e
curl -sSN "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "m", "stream": true, "messages": [{"role": "user", "content": "cairn?"}]}'
curl -sS "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" \\
  -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' \\
  -d '{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "cairn?"}]}'
curl -sS "$OPENAI_BASE_URL/models" -H "Authorization: Bearer $OPENAI_API_KEY"
"""
