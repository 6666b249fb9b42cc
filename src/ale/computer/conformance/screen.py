"""The screen, the pointer and the keys; and a machine without a screen."""

from __future__ import annotations

import anyio
import anyio.lowlevel

from ale.computer.conformance.check import Checks, raises, workplace
from ale.computer.session import DisplayMissing, Session
from ale.errors import InfrastructureError

checks = Checks()


@checks("a machine without a screen says so")
async def _no_display(session: Session) -> None:
    if (await session.run_command("echo $DISPLAY")).stdout.strip():
        return  # it has one: the checks of the screen speak for it
    await raises(DisplayMissing, session.screenshot())
    await raises(DisplayMissing, session.click(1, 1))


@checks("a screenshot is a PNG of the screen's size", needs_screen=True)
async def _screenshot(session: Session) -> None:
    width, height = await session.screen_size()
    picture = await session.screenshot()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (width, height)


@checks("a click outside the screen and an unknown key are ValueErrors", needs_screen=True)
async def _bad_input(session: Session) -> None:
    width, height = await session.screen_size()
    await raises(ValueError, session.click(width, 0))
    await raises(ValueError, session.click(0, height))
    await raises(ValueError, session.click(-1, 0))
    await raises(ValueError, session.key("ctrl+nonsense"))


@checks("what is typed arrives letter for letter", needs_screen=True)
async def _typing(session: Session) -> None:
    texts = (
        "Hello, World 123",
        'He said "don\'t" & echo $HOME \\ 100% (a|b) `tick` ;done',
        "5\\`GgT-S%U~tG{H~XU?:**[]<>^_+=#@!",
        "naïve 汉字 € ÄÖÜß ñ ツ á é",
        "aaaa  bb   ",
        "x" * 500,
    )
    agent = session.as_user("agent")
    async with workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = f"stty -echo; printf ready > {place}/ready; head -n {len(texts)} > {place}/typed; touch {place}/done"
        await agent.launch(["xterm", "-u8", "-e", "bash", "-c", script], env={"LC_ALL": "C.UTF-8"})
        await _appears(session, f"{place}/ready")
        for text in texts:
            await session.type(text + "\n")
        await _appears(session, f"{place}/done")
        assert await session.read_file(f"{place}/typed") == "".join(text + "\n" for text in texts)


@checks("a text with more different letters than a keyboard has keys arrives letter for letter", needs_screen=True)
async def _many_letters(session: Session) -> None:
    """With Caps Lock on as well: that is somebody's earlier key, not part of the text."""
    letters = [chr(code) for code in (*range(0x410, 0x450), *range(0x4E00, 0x4E40), *range(0xC0, 0x100))]
    text = "aB" + "".join(letters) + "".join(reversed(letters)) + "Zz"
    agent = session.as_user("agent")
    async with workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = f"stty -echo; touch {place}/ready; head -n 2 > {place}/typed; touch {place}/done"
        await agent.launch(["xterm", "-u8", "-e", "bash", "-c", script], env={"LC_ALL": "C.UTF-8"})
        await _appears(session, f"{place}/ready")
        await session.type(text + "\n")
        await session.key("capslock")
        await session.type("aBc\n")
        await session.key("capslock")
        await _appears(session, f"{place}/done")
        assert await session.read_file(f"{place}/typed") == text + "\naBc\n"


@checks("a program that holds the whole screen does not hold up who looks at it for long", needs_screen=True)
async def _grabbed(session: Session) -> None:
    agent = session.as_user("agent")
    script = (
        "import Xlib.display, time; d = Xlib.display.Display(':0'); d.grab_server(); d.sync(); print(1, flush=True); "
    )
    async with agent.stream_command(["python3", "-c", script + "time.sleep(600)"]) as items:
        await anext(items)
        await raises(InfrastructureError, session.screenshot())
    assert (await session.screenshot()).startswith(b"\x89PNG")


@checks("keys and chords reach the program that has the focus", needs_screen=True)
async def _keys(session: Session) -> None:
    """What xterm sends for each is fixed by the terminals it imitates."""
    presses: tuple[tuple[str | list[str], bytes], ...] = (
        ("a", b"a"),
        ("A", b"A"),
        ("?", b"?"),
        ("+", b"+"),
        ("ctrl+a", b"\x01"),
        (["ctrl", "c"], b"\x03"),
        ("Return", b"\r"),
        ("tab", b"\t"),
        ("shift+tab", b"\x1b[Z"),
        ("up", b"\x1b[A"),
        ("pagedown", b"\x1b[6~"),
        ("f5", b"\x1b[15~"),
        ("esc", b"\x1b"),
        ("é", "é".encode()),
    )
    expected = b"".join(sent for _, sent in presses)
    agent = session.as_user("agent")
    async with workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = f"stty raw -echo; touch {place}/ready; head -c {len(expected)} > {place}/typed; touch {place}/done"
        await agent.launch(["xterm", "-u8", "-e", "bash", "-c", script], env={"LC_ALL": "C.UTF-8"})
        await _appears(session, f"{place}/ready")
        for keys, _ in presses:
            await session.key(keys)
        await _appears(session, f"{place}/done")
        assert await session.read_bytes(f"{place}/typed") == expected


@checks("a click lands on its pixel", needs_screen=True)
async def _click(session: Session) -> None:
    """xterm's mouse reports: button, column, row, each as a character 32 above its value."""
    agent = session.as_user("agent")
    async with workplace(session) as place:
        await session.run_command(["chmod", "777", place])
        script = (
            f"stty raw -echo; printf '\\033[?9h'; touch {place}/ready; head -c 18 > {place}/seen; touch {place}/done"
        )
        look = ["-fn", "fixed", "-b", "0", "-bw", "0", "+sb", "-geometry", "80x24+0+0"]
        await agent.launch(["xterm", *look, "-e", "bash", "-c", script])
        await _appears(session, f"{place}/ready")
        await session.click(200, 200)
        await session.click(200, 200, button="right")
        await session.click(320, 290)
        await _appears(session, f"{place}/done")
        seen = await session.read_bytes(f"{place}/seen")
        first, right, other = seen[:6], seen[6:12], seen[12:]
        assert first[:3] == right[:3] == other[:3] == b"\x1b[M"
        assert (first[3] - 32, right[3] - 32, other[3] - 32) == (0, 2, 0)
        assert first[4:] == right[4:]
        assert other[4] - first[4] == 20, "120 pixels are 20 columns of 6"


async def _appears(session: Session, path: str) -> None:
    with anyio.fail_after(60):
        await session.run_command(f"until test -e {path}; do sleep 0.05; done", timeout=60)
