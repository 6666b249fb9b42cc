"""The door's manners: who is let in, what hostile clients get, what it does to others, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.gateway.doors import SCRIPT, anthropic, chat, visit

from ale.errors import GatewayLost, InfrastructureError, UsageError
from ale.gateway import exchange
from ale.gateway.client import DoorSpec, Gateway
from ale.trajectory.transcript import read_transcript


async def test_one_runs_token_is_refused_at_another_runs_door(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path / "a") as a, visit(gateway, tmp_path / "b") as b:
        status, body = await b.post("/v1/messages", anthropic(), headers={"x-api-key": a.door.token})
        other, openai = await b.post(
            "/v1/chat/completions", chat(), headers={"x-api-key": "", "Authorization": f"Bearer {a.door.token}"}
        )
        reports = [await a.door.close(), await b.door.close()]
    assert (status, other) == (401, 401)
    assert body["error"]["type"] == "authentication_error"
    assert openai["error"]["code"] == "invalid_api_key"
    assert [(report.calls, report.refused) for report in reports] == [(0, 0), (0, 2)]
    assert [record.call.status for record in read_transcript(b.folder)] == [401, 401]


async def test_parallel_runs_do_not_mix(gateway: Gateway, tmp_path: Path) -> None:
    async def one(number: int) -> None:
        async with visit(gateway, tmp_path / str(number), instance=f"case-{number}") as visitor:
            for turn in range(4):
                status, body = await visitor.post("/v1/messages", anthropic(turn))
                assert status == 200
                if turn == 0:
                    assert body["content"][1]["text"] == f"I look at the files of case-{number} first."
            report = await visitor.door.close()
            assert report.answered == 4
            assert [event.n async for event in visitor.door.calls()] == [1, 2, 3, 4]

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/v1/messages", 404),
        ("DELETE", "/v1/models", 404),
        ("POST", "/v1/responses/compact", 404),
        ("GET", "/v1/responses", 404),
        ("GET", "/v1beta/models/scripted-1:generateContent", 404),
        ("POST", "/v1beta/models/scripted-1:embedContent", 404),
        ("POST", "/v1beta/models/:generateContent", 404),
        ("GET", "/api/hello", 404),
        ("GET", "/../../etc/passwd", 404),
        ("POST", "/v1/messages/batches", 404),
    ],
)
async def test_only_the_named_addresses_are_served(
    gateway: Gateway, tmp_path: Path, method: str, path: str, status: int
) -> None:
    async with visit(gateway, tmp_path) as visitor:
        headers = {"x-api-key": visitor.door.token}
        async with visitor.http.request(method, visitor.url(path), headers=headers) as response:
            assert response.status == status
            if status == 404:
                assert "error" in await response.json()


NO_REQUESTS = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"model": NaN}',
    b'{"model": "scripted-1", "messages": [], "x": 1e999}',
    b'{"x": ' + b"9" * 5000 + b"}",
    b"[" * 100_000,
    b'{"messages": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"a": ' * 5000 + b"1" + b"}" * 5000,
    b'{"model": "scripted-1"}',
    b'{"model": "scripted-1", "messages": "hello"}',
    b'{"model": "scripted-1", "messages": [1]}',
    b'{"model": "scripted-1", "messages": [{"role": "oracle"}]}',
    b'{"model": "scripted-1", "messages": [], "tools": [{"name": 5}]}',
    b'{"model": ["scripted-1"], "messages": []}',
    b'{"model": "scripted-1", "input": null}',
    b'{"model": "scripted-1", "input": [1]}',
    b'{"model": "scripted-1", "input": [{"type": ["message"]}]}',
    b'{"model": "scripted-1", "input": [{"role": "oracle"}]}',
    b'{"model": "scripted-1", "input": "a", "tools": [{"type": "function"}]}',
    b'{"model": "scripted-1", "input": "a", "tools": [{"type": "namespace", "name": "a", "tools": 5}]}',
    b'{"model": "scripted-1", "input": [{"type": "additional_tools", "tools": "all"}]}',
    b'{"contents": {}}',
    b'{"contents": [[]]}',
    b'{"contents": [{"role": "oracle"}]}',
    b'{"contents": [{"role": ["user"]}]}',
    b'{"contents": [{"parts": ["hello"]}]}',
    b'{"contents": [], "tools": [{"functionDeclarations": [{}]}]}',
    b'{"contents": [], "tools": [{"function_declarations": {"name": "a"}}]}',
)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages",
        "/v1/chat/completions",
        "/v1/messages/count_tokens",
        "/v1/responses",
        "/v1beta/models/scripted-1:generateContent",
        "/v1beta/models/scripted-1:streamGenerateContent?alt=sse",
        "/v1beta/models/scripted-1:countTokens",
    ],
)
async def test_a_body_that_is_no_request_gets_a_400(gateway: Gateway, tmp_path: Path, path: str) -> None:
    async with visit(gateway, tmp_path) as visitor:
        for body in NO_REQUESTS:
            status, answer = await visitor.post(path, body)
            assert status == 400, body[:100]
            error = answer["error"]
            assert "invalid_request_error" in error.values() or error["status"] == "INVALID_ARGUMENT"
        assert (await visitor.post("/v1/messages", anthropic()))[0] == 200
        await visitor.door.close()
    *refused, served = [record.call.status for record in read_transcript(visitor.folder)]
    assert (set(refused), served) == ({400}, 200)


async def test_odd_text_passes_and_is_recorded_exactly(gateway: Gateway, tmp_path: Path) -> None:
    odd = "lone \ud83d, NUL \0, bell \a, \x1b[2J, 𝄞, \u2028, \ufeff"
    body = anthropic()
    body["messages"][0]["content"] = odd
    body["metadata"] = {odd: odd, "big": 2**80, "small": 1e-300, "one": 1.0, "true": True}
    async with visit(gateway, tmp_path) as visitor:
        assert (await visitor.post("/v1/messages", body))[0] == 200
        missing = await visitor.post("/v1/messages", body | {"model": odd})
        await visitor.door.close()
        [event] = [event async for event in visitor.door.calls()]
    assert event.n == 1
    assert missing[0] == 404
    assert next(read_transcript(visitor.folder)).body() == body


async def test_a_model_that_is_not_this_runs_is_not_found(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        status, body = await visitor.post("/v1/messages", anthropic() | {"model": "other"})
        other, openai = await visitor.post("/v1/chat/completions", chat() | {"model": "other"})
        report = await visitor.door.close()
    assert (status, other) == (404, 404)
    assert body["error"]["type"] == "not_found_error"
    assert openai["error"]["code"] == "model_not_found"
    assert report.answered == 0
    assert report.first_error is not None
    assert "other" in report.first_error


async def test_too_large_a_body_is_a_413_whether_announced_or_not(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        announced = await raw(
            visitor.port,
            f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {visitor.door.token}\r\n"
            f"Content-Length: {exchange.MAX_BODY + 1}\r\n\r\n".encode(),
        )
        assert (await visitor.post("/v1/messages", anthropic()))[0] == 200
    assert announced.startswith(b"HTTP/1.1 413")
    assert b"request_too_large" in announced


@pytest.mark.slow
async def test_an_unannounced_body_is_cut_off_at_the_limit(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        reader, writer = await asyncio.open_connection("127.0.0.1", visitor.port)
        writer.write(
            f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {visitor.door.token}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        piece = b"%x\r\n" % 2**20 + b" " * 2**20 + b"\r\n"
        with anyio.fail_after(60):
            try:
                for _ in range(exchange.MAX_BODY // 2**20 + 1):
                    writer.write(piece)
                    await writer.drain()
                answer = await reader.read(200)
            except ConnectionError:
                answer = b"HTTP/1.1 413"
        writer.close()
    assert answer.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ids=range(6),
)
async def test_what_is_no_http_is_refused_and_disturbs_nobody(
    gateway: Gateway, tmp_path: Path, request_bytes: bytes
) -> None:
    async with visit(gateway, tmp_path) as visitor:
        assert not (await raw(visitor.port, request_bytes)).startswith(b"HTTP/1.1 2")
        assert (await visitor.post("/v1/messages", anthropic()))[0] == 200


async def test_compressed_bodies_are_not_unpacked(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        status, _ = await visitor.post("/v1/messages", b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert status == 415


async def test_idle_connections_of_one_run_use_up_only_its_own_places(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path / "a") as hostile, visit(gateway, tmp_path / "b") as other:
        held = [await asyncio.open_connection("127.0.0.1", hostile.port) for _ in range(400)]
        assert (await other.post("/v1/messages", anthropic()))[0] == 200
        turned_away = 0
        with anyio.fail_after(20):
            for ended in asyncio.as_completed([reader.read(1) for reader, _ in held]):
                assert await ended == b""
                turned_away += 1
                if turned_away == 150:
                    break
        for _, writer in held:
            writer.close()


async def test_a_client_that_leaves_while_the_model_thinks_is_recorded(gateway: Gateway, tmp_path: Path) -> None:
    script = "scripts: [{turns: [{delay: 3600, text: late}]}]"
    async with visit(gateway, tmp_path, script=script) as visitor:
        body = json.dumps(anthropic()).encode()
        _, writer = await asyncio.open_connection("127.0.0.1", visitor.port)
        writer.write(
            f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: {visitor.door.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()
        with anyio.fail_after(20):
            async for event in visitor.door.calls():
                assert event.usage is None
                break
        report = await visitor.door.close()
    [record] = read_transcript(visitor.folder)
    assert (record.call.status, record.call.aborted) == (499, True)
    assert record.body() == anthropic()
    assert (report.calls, report.answered) == (1, 0)


async def test_closing_a_door_breaks_off_what_is_under_way_and_records_it(gateway: Gateway, tmp_path: Path) -> None:
    script = "scripts: [{turns: [{delay: 3600, text: late}]}]"
    async with visit(gateway, tmp_path, script=script) as visitor, anyio.create_task_group() as tasks:
        failures: list[BaseException] = []

        async def ask() -> None:
            try:
                await visitor.post("/v1/messages", anthropic())
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        tasks.start_soon(ask)
        probe = 0
        with anyio.fail_after(20):
            while not probe:  # until the call has reached the gateway
                status, _ = await visitor.post("/v1/messages", anthropic() | {"model": "probe"})
                probe = status
                await anyio.sleep(0.05)
            report = await visitor.door.close()
    assert failures
    assert report.answered == 0
    assert any(record.call.status == 499 for record in read_transcript(visitor.folder))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", visitor.port), timeout=5).close()


async def test_scripted_errors_come_once_before_the_answer(gateway: Gateway, tmp_path: Path) -> None:
    script = """
scripts:
  - turns:
      - {error: {status: 529, message: overloaded}}
      - {error: {status: 429, message: slow down}, times: 2}
      - {text: first}
      - {error: {status: 500, message: broken}}
      - {text: second}
"""
    async with visit(gateway, tmp_path, script=script) as visitor:
        answers = [await visitor.post("/v1/messages", anthropic()) for _ in range(5)]
        later = [await visitor.post("/v1/chat/completions", chat(1)) for _ in range(2)]
        report = await visitor.door.close()
    assert [status for status, _ in answers] == [529, 429, 429, 200, 200]
    assert answers[0][1]["error"]["type"] == "overloaded_error"
    assert answers[1][1]["error"]["type"] == "rate_limit_error"
    assert answers[4][1]["content"][0]["text"] == "first"
    assert [status for status, _ in later] == [500, 200]
    assert (report.backend_failures, report.answered, report.calls) == (4, 3, 7)


async def test_secrets_and_the_token_are_masked_in_the_record(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path, secrets=("hunter2-hunter2",)) as visitor:
        body = anthropic()
        body["messages"][0]["content"] = f"env says {visitor.door.token} and hunter2-hunter2"
        await visitor.post("/v1/messages", body)
        await visitor.post(f"/v1/{visitor.door.token}", b"")
        await visitor.door.close()
    written = (visitor.folder / "transcript.jsonl").read_text()
    assert visitor.door.token not in written
    assert "hunter2" not in written
    record = next(read_transcript(visitor.folder)).body()
    assert record is not None
    assert record["messages"][0]["content"] == "env says [masked] and [masked]"


async def test_refused_requests_are_recorded_only_so_often(gateway: Gateway, tmp_path: Path) -> None:
    async with visit(gateway, tmp_path) as visitor:
        for _ in range(exchange.MAX_REFUSED + 5):
            async with visitor.http.get(visitor.url("/nothing")) as response:
                assert response.status == 401
        report = await visitor.door.close()
    assert report.refused == exchange.MAX_REFUSED + 5
    assert len(list(read_transcript(visitor.folder))) == exchange.MAX_REFUSED


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"backend": "script:/nowhere.yaml"}, UsageError, "does not exist"),
        ({"backend": "oracle"}, UsageError, "is not known"),
        ({"workflow": "computing_math/etl_repair"}, UsageError, "no script for"),
        ({"folder": Path("/proc/nowhere")}, InfrastructureError, "nowhere"),
        ({"secrets": ("abc",)}, ValueError, "masked"),
    ],
    ids=["missing script", "unknown backend", "other workflow", "unwritable folder", "tiny secret"],
)
async def test_a_door_that_cannot_be_opened_says_why(
    gateway: Gateway, tmp_path: Path, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        async with visit(gateway, tmp_path, **changes):
            pass
    async with visit(gateway, tmp_path / "next") as visitor:
        assert (await visitor.post("/v1/messages", anthropic()))[0] == 200


async def test_a_killed_gateway_is_noticed_by_everyone_who_waits(tmp_path: Path) -> None:
    lost: list[str] = []
    async with Gateway() as gateway, visit(gateway, tmp_path) as visitor:
        assert (await visitor.post("/v1/messages", anthropic()))[0] == 200
        with anyio.fail_after(20):
            assert (await anext(visitor.door.calls())).status == 200

        async def wait_limit() -> None:
            with pytest.raises(GatewayLost):
                await visitor.door.limit_reached()
            lost.append("limit")

        async def wait_calls() -> None:
            with pytest.raises(GatewayLost):
                async for _ in visitor.door.calls():
                    pass
            lost.append("calls")

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait_limit)
                tasks.start_soon(wait_calls)
                assert gateway.pid is not None
                os.kill(gateway.pid, signal.SIGKILL)
            with pytest.raises(GatewayLost, match="-9"):
                await visitor.door.close()
            with pytest.raises(GatewayLost):
                await gateway.open(visitor.door.spec, socket.create_server(("127.0.0.1", 0)))
    assert sorted(lost) == ["calls", "limit"]
    assert [record.call.status for record in read_transcript(visitor.folder)] == [200]


async def test_the_gateway_ends_with_its_conductor_and_keeps_what_it_has(tmp_path: Path) -> None:
    async with Gateway() as gateway, visit(gateway, tmp_path) as visitor:
        await visitor.post("/v1/messages", anthropic())
        pid = gateway.pid
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert len(list(read_transcript(visitor.folder))) == 1


async def test_an_error_inside_the_block_comes_out_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with Gateway():
            raise KeyError("mine")


async def test_a_cancelled_block_leaves_no_process(tmp_path: Path) -> None:
    pid = None
    with anyio.CancelScope() as scope:
        async with Gateway() as gateway, visit(gateway, tmp_path):
            pid = gateway.pid
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_cancelled_block_still_gets_its_doors_report(tmp_path: Path) -> None:
    with anyio.CancelScope() as scope:
        async with Gateway() as gateway, visit(gateway, tmp_path) as visitor:
            await visitor.post("/v1/messages", anthropic())
            scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                with anyio.fail_after(20):
                    report = await visitor.door.close()
    assert report.answered == 1


async def test_the_process_gets_nothing_of_the_users_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-real")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    async with Gateway() as gateway:
        environment = Path(f"/proc/{gateway.pid}/environ").read_bytes()
        descriptors = [str(link.readlink()) for link in Path(f"/proc/{gateway.pid}/fd").iterdir()]
    assert b"sk-real" not in environment
    assert b"proxy" not in environment
    assert not [target for target in descriptors if target.startswith("/") and not target.startswith("/dev/")]


def test_a_door_spec_does_not_show_its_secrets() -> None:
    spec = DoorSpec("r", "w", "i", Path("x"), "m", "script:s", secrets=("hunter2-hunter2",))
    assert "hunter2" not in repr(spec)
    assert SCRIPT


async def raw(port: int, data: bytes) -> bytes:
    """What the door answers to these bytes, up to its closing the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    with anyio.fail_after(20):
        try:
            answer = await reader.read(4096)
        except ConnectionError:
            answer = b""
    writer.close()
    return answer
