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
