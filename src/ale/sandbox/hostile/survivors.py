"""Processes that want to outlive their agent. Each takes a name of its own, by which the freeze must have ended it."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, Ending, python

_LIVES_ON = """
import ctypes, signal, time
libc = ctypes.CDLL(None)
def name_it(name):
    libc.prctl(15, name.encode(), 0, 0, 0)
def deaf():
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
def detach(again=True):
    '''The parent returns False when the child has its new name, so that the freeze finds it under that.'''
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        os.read(reader, 1)
        return False
    os.setsid()
    if again and os.fork():
        os._exit(0)
    os.close(reader)
    null = os.open('/dev/null', os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    globals()['_writer'] = writer
    return True
def ready():
    os.write(_writer, b'x')
    os.close(_writer)
def work():
    '''What it would do if it lived: look for the reference, and change what was delivered.'''
    import glob
    while True:
        for path in glob.glob('/task/reference/*'):
            open('/task/output/found', 'a').write(open(path).read())
        try:
            open('/task/output/late.txt', 'w').write('late')
        except OSError:
            pass
        time.sleep(0.01)
"""


def _survivor(name: str, comm: str, program: str) -> Attack:
    return Attack(name, "survivors", python(_LIVES_ON + program), Ending(killed=(comm,)))


SURVIVORS = (
    _survivor("a daemon, forked twice", "lives-daemon", "if detach():\n    name_it('lives-daemon'); ready(); work()\n"),
    _survivor(
        "a session of its own", "lives-session", "if detach(False):\n    name_it('lives-session'); ready(); work()\n"
    ),
    _survivor(
        "deaf to every signal", "lives-deaf", "if detach():\n    deaf(); name_it('lives-deaf'); ready(); work()\n"
    ),
    _survivor(
        "under the name of a kernel thread",
        "kworker/0:1",
        "if detach():\n    name_it('kworker/0:1'); ready(); work()\n",
    ),
    _survivor(
        "brings itself back",
        "lives-respawn",
        """
def again():
    while True:
        child = os.fork()
        if not child:
            os.setsid()
            work()
        time.sleep(0.02)
        os.kill(child, 9)
        os.waitpid(child, 0)
        if not os.fork():
            continue
        os._exit(0)
if detach():
    deaf(); name_it('lives-respawn'); ready(); again()
""",
    ),
    _survivor(
        "stops itself",
        "lives-stopped",
        "if detach():\n    name_it('lives-stopped'); ready(); os.kill(os.getpid(), signal.SIGSTOP); work()\n",
    ),
    _survivor(
        "its first thread has ended",
        "lives-headless",
        """
import threading
if detach():
    name_it('lives-headless')
    def later():
        libc.prctl(15, b'lives-headless', 0, 0, 0); ready(); work()
    threading.Thread(target=later).start()
    libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)
""",
    ),
    _survivor(
        "waits for a time of day like cron",
        "lives-cron",
        """
if detach():
    name_it('lives-cron'); ready()
    while True:
        time.sleep(0.2)
        if not os.fork():
            work()
        time.sleep(1)
""",
    ),
    _survivor(
        "holds an output file open",
        "lives-writer",
        """
if detach():
    name_it('lives-writer')
    file = open('/task/output/log.txt', 'w'); os.unlink('/task/output/log.txt')
    ready()
    while True:
        file.write('x'); file.flush(); time.sleep(0.01)
""",
    ),
    _survivor(
        "has names that write on a terminal",
        "lives-escape",
        """
for name in (b'\\x1b]0;gone\\x07', b'\\x1b[2J\\x1b[H', b'a\\rUid:\\t0', b'x\\nState:\\tZ', b'lives-escape'):
    if detach():
        libc.prctl(15, name, 0, 0, 0); ready(); work()
""",
    ),
)
