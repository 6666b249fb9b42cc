"""Gemini generateContent, streaming and not, against a real gateway process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.doors import assemble_gemini, events, gemini, gemini_path, visit
from yarl import URL

from ale.gateway.client import Gateway, Limits
from ale.trajectory.transcript import read_transcript

SHELL = {
    "name": "run_shell_command",
    "parameters": {
        "type": "OBJECT",
        "properties": {"command": {"type": "STRING"}, "seconds": {"type": "INTEGER"}, "hosts": {"type": "ARRAY"}},
        "required": ["command", "seconds", "hosts"],
    },
}


async def test_it_answers_with_thoughts_text_and_a_filled_shell_call(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        status, answer = await visitor.post(gemini_path(), gemini())
    assert status == 200
    [candidate] = answer["candidates"]
    thought, text, call = candidate["content"]["parts"]
    assert thought == {"text": "Let me see what there is.", "thought": True}
    assert text == {"text": "I look at the files of march first."}
    assert call["functionCall"]["name"] == "run_shell_command"
    assert call["functionCall"]["args"]["command"] == "ls -la /task/input"
    assert call["functionCall"]["args"]["description"]
    assert call["thoughtSignature"]
    assert candidate["finishReason"] == "STOP"
    assert answer["modelVersion"] == "scripted-1"
    assert answer["usageMetadata"] == {
        "promptTokenCount": 1200,
        "cachedContentTokenCount": 1000,
        "candidatesTokenCount": 80,
        "totalTokenCount": 1280,
    }


@pytest.mark.parametrize("turns", [0, 1, 2, 7])
async def test_a_stream_adds_up_to_the_plain_answer(gateway: Gateway, tmp_path: Path, turns: int) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, plain = await visitor.post(gemini_path(), gemini(turns))
        status, stream = await visitor.post(gemini_path(stream=True), gemini(turns))
    assert status == 200
    assert without_ids(assemble_gemini(stream)) == without_ids(plain)
    *middle, last = [chunk for _, chunk in events(stream)]
    assert not any("usageMetadata" in chunk or "finishReason" in chunk["candidates"][0] for chunk in middle)
    assert last["candidates"][0]["finishReason"] == "STOP"


@pytest.mark.parametrize("size", [511, 512, 513, 40_000])
async def test_long_texts_survive_the_pieces_of_a_stream(gateway: Gateway, tmp_path: Path, size: int) -> None:
    text = ("añ😀\\n" * size)[:size]
    script = f"scripts: [{{turns: [{{thinking: '{text}', text: '{text}', calls: [{{shell: '{text}'}}]}}]}}]"
    async with visit(gateway, tmp_path, script=script) as visitor:
        _, stream = await visitor.post(gemini_path(stream=True), gemini())
    thought, said, call = assemble_gemini(stream)["candidates"][0]["content"]["parts"]
    assert thought["text"] == said["text"] == call["functionCall"]["args"]["command"] == text


@pytest.mark.parametrize("version", ["v1", "v1beta"])
async def test_both_versions_and_all_ways_to_send_the_key_are_served(
    gateway: Gateway, tmp_path: Path, version: str
) -> None:
    path = f"/{version}/models/scripted-1:generateContent"
    async with visit(gateway, tmp_path) as visitor:
        token, none = visitor.door.token, {"x-api-key": ""}
        encoded = "".join(f"%{byte:02X}" for byte in token.encode())
        answers = [
            await visitor.post(path, gemini(), headers=none | {"x-goog-api-key": token}),
            await visitor.post(path, gemini(), headers=none | {"Authorization": f"Bearer {token}"}),
            await visitor.post(f"{path}?key={token}", gemini(), headers=none),
            await visitor.post(f"{path}?key={encoded}", gemini(), headers=none),
            await visitor.post(f"{path}?key=mine", gemini(), headers=none | {"x-goog-api-key": "theirs"}),
        ]
        await visitor.door.close()
    assert [status for status, _ in answers] == [200, 200, 200, 200, 401]
    assert answers[-1][1] == {
        "error": {"code": 401, "message": "this is not the run's API key", "status": "UNAUTHENTICATED"}
    }
    written = (visitor.folder / "transcript.jsonl").read_text()
    assert token not in written
    assert encoded not in written


async def test_both_spellings_of_fields_are_read(gateway: Gateway, tmp_path: Path) -> None:
    snake = gemini(tools=False) | {"tools": [{"function_declarations": [SHELL]}, {"google_search": {}}]}
    camel = gemini() | {"tools": [{"functionDeclarations": [SHELL]}]}
    async with visit(gateway, tmp_path) as visitor:
        answers = [await visitor.post(gemini_path(), body) for body in (snake, camel)]
    for _, answer in answers:
        call = answer["candidates"][0]["content"]["parts"][-1]["functionCall"]
        assert call["args"] == {"command": "ls -la /task/input", "seconds": 0, "hosts": []}


async def test_a_scripts_tool_is_found_in_the_harnesss_own_spelling(gateway: Gateway, tmp_path: Path) -> None:
    body = gemini(1)
    body["tools"][0]["functionDeclarations"].append({"name": "mcp_desktop_screenshot"})
    async with visit(gateway, tmp_path) as visitor:
        _, answer = await visitor.post(gemini_path(), body)
    names = [part["functionCall"]["name"] for part in answer["candidates"][0]["content"]["parts"]]
    assert names == ["run_shell_command", "mcp_desktop_screenshot"]


CHOICE = {"type": "OBJECT", "properties": {"model_choice": {"type": "STRING"}}, "required": ["model_choice"]}


@pytest.mark.parametrize(
    ("config", "keys"),
    [
        ({"generationConfig": {"responseMimeType": "application/json", "responseSchema": CHOICE}}, ["model_choice"]),
        (
            {"generation_config": {"response_mime_type": "application/json", "response_json_schema": CHOICE}},
            ["model_choice"],
        ),
        ({"generationConfig": {"responseMimeType": "application/json"}}, []),
    ],
)
async def test_a_request_for_json_gets_json(
    gateway: Gateway, tmp_path: Path, config: dict[str, Any], keys: list[str]
) -> None:
    async with visit(gateway, tmp_path) as visitor:
        _, answer = await visitor.post(gemini_path(), gemini(tools=False, **config))
    [part] = answer["candidates"][0]["content"]["parts"]
    assert list(json.loads(part["text"])) == keys


async def test_count_tokens_is_an_estimate_and_no_step(gateway: Gateway, tmp_path: Path) -> None:
    path = "/v1beta/models/scripted-1:countTokens"
    async with visit(gateway, tmp_path) as visitor:
        _, few = await visitor.post(path, gemini())
        _, more = await visitor.post(path, {"generateContentRequest": {"model": "models/scripted-1", **gemini(50)}})
        status, _ = await visitor.post(path, {"generateContentRequest": 5})
        report = await visitor.door.close()
    assert 0 < few["totalTokens"] < more["totalTokens"]
    assert status == 400
    assert (report.calls, report.answered) == (0, 0)


async def test_errors_have_the_providers_shape(gateway: Gateway, tmp_path: Path) -> None:
    script = (
        "scripts: [{turns: [{error: {status: 503, message: busy}}, {error: {status: 429, message: slow}}, {text: a}]}]"
    )
    async with visit(gateway, tmp_path, script=script, limits=Limits(steps=1)) as visitor:
        answers = [
            await visitor.post(gemini_path(model="other"), gemini()),
            await visitor.post("/v1beta/models/scripted-1:embedContent", {}),
            await visitor.post(gemini_path(stream=True).removesuffix("?alt=sse"), gemini()),
            *[await visitor.post(gemini_path(stream=True), gemini()) for _ in range(4)],
        ]
        await visitor.door.close()
    assert [(status, body["error"]["status"]) for status, body in answers if status != 200] == [
        (404, "NOT_FOUND"),
        (404, "NOT_FOUND"),
        (400, "INVALID_ARGUMENT"),
        (503, "UNAVAILABLE"),
        (429, "RESOURCE_EXHAUSTED"),
        (400, "FAILED_PRECONDITION"),
    ]
    assert "budget is used up" in answers[-1][1]["error"]["message"]
    assert "alt=sse" in answers[2][1]["error"]["message"]
    assert {record.call.dialect for record in read_transcript(visitor.folder)} == {"gemini"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1beta/models/other:generateContent", 404),
        ("/v1beta/models/%ff%00%0d%1b[2J:generateContent", 404),
        ("/v1beta/models/..%2f..%2fv1%2fmessages:generateContent", 404),
        ("/v1beta/models/scripted-1:generateContent:generateContent", 404),
        (f"/v1beta/models/{':' * 6000}:generateContent", 404),
        ("/v1beta/models/scripted-1%3AgenerateContent", 200),
        ("/v1beta/models/scripted-1:generateContent?key=%ED%A0%80%ff&key=&alt=%00", 200),
    ],
    ids=range(7),
)
async def test_odd_addresses_are_told_apart(gateway: Gateway, tmp_path: Path, path: str, status: int) -> None:
    async with visit(gateway, tmp_path) as visitor:
        url = URL(visitor.url(path), encoded=True)
        async with visitor.http.post(url, json=gemini(), headers={"x-goog-api-key": visitor.door.token}) as response:
            assert response.status == status
            assert ("error" in await response.json()) == (status == 404)
        await visitor.door.close()
    [record] = read_transcript(visitor.folder)
    assert record.call.status == status


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if key not in ("id", "responseId")}
    return [without_ids(item) for item in value] if isinstance(value, list) else value
