"""What the gateway's tests share: an open door on a loopback port, and clients that speak the dialects by hand."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from ale.gateway.client import Door, DoorSpec, Gateway, Limits

SHELL_SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command", "description"],
}

SCRIPT = """\
price: {input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75}
scripts:
  - when: {workflow: business_finance/*, instance: "*"}
    turns:
      - thinking: Let me see what there is.
        text: I look at the files of {{instance}} first.
        calls: [{shell: "ls -la /task/input"}]
        usage: {input: 1200, output: 80, cache_read: 1000, cache_write: 100}
      - calls: [{shell: "wc -l a.csv"}, {tool: mcp__desktop__screenshot, args: {}}]
        usage: {input: 1300, output: 40}
      - {text: Done., usage: {input: 1400, output: 10}}
    otherwise: {text: Nothing is left to do., usage: {input: 10, output: 10}}
"""


@dataclass
class Visitor:
    """A client at one run's door."""

    door: Door
    port: int
    folder: Path
    http: aiohttp.ClientSession

    async def post(self, path: str, body: Any, **kwargs: Any) -> tuple[int, Any]:
        """Status and body: parsed JSON, or the text of a stream."""
        headers = {"x-api-key": self.door.token, **kwargs.pop("headers", {})}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self.http.post(self.url(path), data=data, headers=headers, **kwargs) as response:
            text = await response.text()
            streamed = response.headers["Content-Type"].startswith("text/event-stream")
            return response.status, text if streamed else json.loads(text)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@asynccontextmanager
async def visit(
    gateway: Gateway, folder: Path, /, *, script: str = SCRIPT, limits: Limits | None = None, **spec: Any
) -> AsyncIterator[Visitor]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "script.yaml"
    path.write_text(script, encoding="utf-8")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    filled = {
        "run": folder.name,
        "workflow": "business_finance/vendor_reconciliation",
        "instance": "march",
        "folder": folder / "run",
        "model": "scripted-1",
        "backend": f"script:{path}",
        "limits": limits or Limits(),
        **spec,
    }
    door = await gateway.open(DoorSpec(**filled), listener)
    async with aiohttp.ClientSession() as http:
        yield Visitor(door, port, folder / "run", http)


def anthropic(turns: int = 0, *, stream: bool = False, tools: bool = True, **extra: Any) -> dict[str, Any]:
    """A request whose history holds that many answers."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Reconcile the vendors."}]
    for turn in range(turns):
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"answer {turn}"}]})
        messages.append({"role": "user", "content": f"go on {turn}"})
    offered = [{"name": "Bash", "description": "runs", "input_schema": SHELL_SCHEMA}]
    return {
        "model": "scripted-1",
        "max_tokens": 1000,
        "messages": messages,
        **({"tools": offered} if tools else {}),
        "stream": stream,
        **extra,
    }


def chat(turns: int = 0, *, stream: bool = False, tools: bool = True, **extra: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an accountant."},
        {"role": "user", "content": "Reconcile the vendors."},
    ]
    for turn in range(turns):
        messages.append({"role": "assistant", "content": f"answer {turn}"})
        messages.append({"role": "user", "content": f"go on {turn}"})
    offered = [{"type": "function", "function": {"name": "run_shell_command", "parameters": SHELL_SCHEMA}}]
    return {
        "model": "scripted-1",
        "messages": messages,
        **({"tools": offered} if tools else {}),
        "stream": stream,
        **extra,
    }


def events(stream: str) -> list[tuple[str | None, Any]]:
    """The server-sent events of a stream: name and parsed data (`[DONE]` as it is)."""
    found: list[tuple[str | None, Any]] = []
    for block in stream.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line)
        if "data" in fields:
            data = fields["data"] if fields["data"] == "[DONE]" else json.loads(fields["data"])
            found.append((fields.get("event"), data))
    return found


def assemble_anthropic(stream: str) -> dict[str, Any]:
    """Put a message together from its events, as an SDK would."""
    message: dict[str, Any] = {}
    partial: dict[int, str] = {}
    for name, data in events(stream):
        assert name == data["type"]
        if name == "message_start":
            message = data["message"]
        elif name == "content_block_start":
            assert data["index"] == len(message["content"])
            message["content"].append(data["content_block"])
        elif name == "content_block_delta":
            block, delta = message["content"][data["index"]], data["delta"]
            if delta["type"] == "input_json_delta":
                partial[data["index"]] = partial.get(data["index"], "") + delta["partial_json"]
            else:
                field = delta["type"].removesuffix("_delta")
                block[field] += delta[field]
        elif name == "content_block_stop" and data["index"] in partial:
            message["content"][data["index"]]["input"] = json.loads(partial[data["index"]])
        elif name == "message_delta":
            message |= data["delta"]
            message["usage"] |= data["usage"]
    return message


def assemble_chat(stream: str) -> dict[str, Any]:
    """Put a completion's message, finish reason and usage together from its chunks."""
    found = events(stream)
    assert found[-1][1] == "[DONE]"
    message: dict[str, Any] = {}
    whole: dict[str, Any] = {"message": message, "finish_reason": None, "usage": None}
    for _, chunk in found[:-1]:
        whole["usage"] = chunk.get("usage") or whole["usage"]
        for choice in chunk["choices"]:
            whole["finish_reason"] = choice["finish_reason"] or whole["finish_reason"]
            for key, value in choice["delta"].items():
                if key != "tool_calls":
                    message[key] = message.get(key, "") + value if key != "role" else value
                    continue
                for call in value:
                    calls = message.setdefault("tool_calls", [])
                    if call["index"] == len(calls):
                        calls.append({key: call[key] for key in ("id", "type")} | {"function": dict(call["function"])})
                    else:
                        calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return whole


def responses(turns: int = 0, *, stream: bool = False, tools: bool = True, **extra: Any) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are an accountant."}]},
        {"role": "user", "content": "Reconcile the vendors."},
    ]
    for turn in range(turns):
        said = {"type": "output_text", "text": f"answer {turn}", "annotations": []}
        items.append({"type": "reasoning", "id": f"rs_{turn}", "summary": []})
        items.append({"type": "message", "role": "assistant", "content": [said]})
        items.append({"type": "function_call", "call_id": f"call_{turn}", "name": "exec_command", "arguments": "{}"})
        items.append({"type": "function_call_output", "call_id": f"call_{turn}", "output": f"go on {turn}"})
    offered = [{"type": "function", "name": "exec_command", "parameters": SHELL_SCHEMA}]
    return {
        "model": "scripted-1",
        "input": items,
        **({"tools": offered} if tools else {}),
        "stream": stream,
        **extra,
    }


def gemini(turns: int = 0, *, tools: bool = True, **extra: Any) -> dict[str, Any]:
    """What is asked for stands in the address: `gemini_path`."""
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Reconcile the vendors."}]}]
    for turn in range(turns):
        contents.append({"role": "model", "parts": [{"text": f"answer {turn}"}]})
        contents.append({"role": "user", "parts": [{"text": f"go on {turn}"}]})
    offered = [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": SHELL_SCHEMA}]}]
    return {"contents": contents, **({"tools": offered} if tools else {}), **extra}


def gemini_path(*, stream: bool = False, model: str = "scripted-1") -> str:
    return f"/v1beta/models/{model}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"


def assemble_responses(stream: str) -> dict[str, Any]:
    """Put a response together from its events alone, and hold it against the whole ones that events bring."""
    response: dict[str, Any] = {}
    for number, (name, data) in enumerate(events(stream)):
        assert (name, number) == (data["type"], data["sequence_number"])
        kind = data["type"].removeprefix("response.")
        if kind in ("created", "in_progress"):
            assert data["response"]["status"] == "in_progress"
            response = response or data["response"]
        elif kind == "output_item.added":
            assert data["output_index"] == len(response["output"])
            response["output"].append(data["item"])
        elif kind == "output_item.done":
            built = response["output"][data["output_index"]]
            assert {**data["item"], **built, "status": data["item"].get("status")} == {"status": None, **data["item"]}
            response["output"][data["output_index"]] = data["item"]
        elif kind in ("completed", "incomplete"):
            assert response["output"] == data["response"]["output"]
            response = data["response"]
        else:
            _grow(response["output"][data["output_index"]], kind, data)
    return response


def _grow(item: dict[str, Any], kind: str, data: dict[str, Any]) -> None:
    """One event inside an output item."""
    what, _, step = kind.rpartition(".")
    assert data["item_id"] == item["id"]
    parts = item.get("summary", item.get("content", []))
    place, field = {
        "function_call_arguments": (item, "arguments"),
        "custom_tool_call_input": (item, "input"),
    }.get(what, (parts[-1] if parts else {}, "text"))
    if what in ("reasoning_summary_part", "content_part") and step == "added":
        parts.append(data["part"])
    elif what in ("reasoning_summary_part", "content_part"):
        assert data["part"] == place
    elif step == "delta":
        place[field] += data["delta"]
    else:
        assert data[field] == place[field]


def assemble_gemini(stream: str) -> dict[str, Any]:
    """Put an answer together from its chunks: neighbouring texts of a kind are one."""
    whole: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    for _, chunk in events(stream):
        [candidate] = chunk["candidates"]
        for part in candidate["content"]["parts"]:
            if "text" in part and parts and {**parts[-1], "text": ""} == {**part, "text": ""}:
                parts[-1]["text"] += part["text"]
            else:
                parts.append(part)
        whole = {**chunk, "candidates": [{**candidate, "content": {"role": "model", "parts": parts}}]}
    return whole
