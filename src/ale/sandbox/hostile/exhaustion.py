"""Using up what the machine has, and what it shares with the host."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, Ending, python

_ANY = ("finished", "crashed")

_BOMB = python(
    """
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
"""
)

EXHAUSTION = (
    Attack(
        "opens every descriptor",
        "exhaustion",
        python(
            """
held = []
try:
    while True:
        held.append(os.open('/dev/null', os.O_RDONLY))
except OSError:
    pass
if len(held) > 100_000:
    got(len(held), 'descriptors')
"""
        ),
    ),
    Attack(
        "starts as many threads as it can",
        "exhaustion",
        python(
            """
import threading
event, number = threading.Event(), 0
threading.stack_size(65536)
try:
    while number < 5000:
        threading.Thread(target=event.wait, daemon=True).start()
        number += 1
except RuntimeError:
    pass
if number >= 4096:
    got(number, 'threads')
os._exit(0)
"""
        ),
    ),
    Attack(
        "fills the memory file systems",
        "exhaustion",
        python(
            """
import time
for place in ('/dev/shm', '/run/lock', '/dev', '/run'):
    written = 0
    try:
        with open(place + '/fill', 'wb') as file:
            while written < 2 << 30:
                written += file.write(bytes(1 << 20))
    except OSError:
        pass
    if written >= 1 << 30:
        got(written >> 20, 'MB in', place)
    number = 0
    try:
        while number < 20_000:
            os.mkdir(f'{place}/{number}')
            number += 1
    except OSError:
        pass
"""
        ),
        alone=True,
        grade_on="same",
    ),
    Attack(
        "prints two gigabytes",
        "exhaustion",
        "head -c 2147483648 /dev/zero; head -c 300000000 /dev/zero >&2",
        alone=True,
        slow=True,
        seconds=120,
    ),
    Attack(
        "prints lines of 20 MB", "exhaustion", "for n in 1 2 3; do head -c 20000000 /dev/zero | tr '\\0' x; echo; done"
    ),
    Attack(
        "uses up the memory at once",
        "exhaustion",
        python("block = bytearray(8 << 30)\nblock[::4096] = bytes([1]) * (2 << 20)\n"),
        Ending(agent=_ANY),
        alone=True,
        memory_mb=512,
    ),
    Attack(
        "uses up the memory in so many processes that the server is the largest",
        "exhaustion",
        python(
            """
import time
for number in range(900):
    if os.fork() == 0:
        time.sleep(1)
        block = bytearray(3 << 20)
        block[::4096] = bytes([1]) * 768
        time.sleep(60)
        os._exit(0)
time.sleep(10)
"""
        ),
        Ending(agent=_ANY),
        alone=True,
        memory_mb=512,
        seconds=15,
    ),
    Attack(
        "fills the disk",
        "exhaustion",
        "for n in 1 2 3 4 5 6; do head -c 150M /dev/zero > ~/fill$n; done; sleep 20",
        Ending(agent=_ANY),
        alone=True,
        disk_mb=200,
    ),
    Attack(
        "fills the disk with empty files",
        "exhaustion",
        python("os.mkdir('/tmp/many')\nfor number in range(30_000):\n    open(f'/tmp/many/{number}', 'w').close()\n"),
        Ending(agent=_ANY),
        alone=True,
    ),
    Attack("a fork bomb", "exhaustion", "b() { b | b & }; b; sleep 3", Ending(agent=_ANY), alone=True, seconds=3),
    Attack(
        "a fork bomb deaf to signals, in sessions of its own",
        "exhaustion",
        _BOMB,
        Ending(agent=_ANY),
        alone=True,
        seconds=3,
    ),
    Attack(
        "destroys its machine to get another",
        "exhaustion",
        "rm -rf --no-preserve-root / 2>/dev/null; " + _BOMB,
        Ending(agent=_ANY, score=0.0, reason="no_output"),
        alone=True,
        memory_mb=256,
        seconds=5,
    ),
)
