"""Attacks on the computer server and on the processes that act for root."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, python

_FOREIGN = """
import glob, ctypes, errno, signal
libc = ctypes.CDLL(None, use_errno=True)
def foreign():
    for folder in glob.glob('/proc/[0-9]*'):
        try:
            if os.stat(folder).st_uid != os.getuid() or os.path.basename(folder) == '1':
                yield int(os.path.basename(folder))
        except OSError:
            continue
"""

SERVER = (
    Attack(
        "signals the server",
        "server",
        python(
            _FOREIGN
            + """
for pid in {1, os.getppid(), *foreign()}:
    for number in (*range(1, 32), 34, 50, 64):
        try:
            os.kill(pid, number)
            got('signal', number, 'to process', pid)
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "reads and writes the server's memory",
        "server",
        python(
            _FOREIGN
            + """
for pid in {1, os.getppid(), *foreign()}:
    for name in ('mem', 'environ', 'maps', 'smaps', 'pagemap', 'syscall', 'wchan', 'clear_refs', 'oom_score_adj',
                 'coredump_filter', 'comm', 'uid_map', 'setgroups', 'timerslack_ns', 'attr/current', 'loginuid'):
        for flags in (os.O_RDWR, os.O_WRONLY):
            try:
                descriptor = os.open(f'/proc/{pid}/{name}', flags)
                os.write(descriptor, b'0')
                got('wrote', name, 'of', pid)
            except OSError:
                continue
    for name in ('mem', 'environ', 'maps', 'auxv'):
        try:
            if open(f'/proc/{pid}/{name}', 'rb').read(1):
                got('read', name, 'of', pid)
        except (OSError, ValueError):
            continue
"""
        ),
    ),
    Attack(
        "traces the server",
        "server",
        python(
            _FOREIGN
            + """
for pid in {1, os.getppid(), *foreign()}:
    for request in (16, 0x4206):
        if libc.ptrace(request, pid, 0, 0) == 0:
            got('traces', pid)
    buffer = ctypes.create_string_buffer(8)
    vector = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 8)
    for call in (310, 311):
        if libc.syscall(call, pid, vector, 1, vector, 1, 0) > 0:
            got('memory of', pid, 'by call', call)
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        continue
    for number in range(10):
        if libc.syscall(438, descriptor, number, 0) >= 0:
            got('descriptor', number, 'of', pid)
"""
        ),
    ),
    Attack(
        "changes the server's priority and limits",
        "server",
        python(
            _FOREIGN
            + """
import resource
for pid in {1, os.getppid(), *foreign()}:
    for what, change in (
        ('limits', lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3))),
        ('priority', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)),
        ('processors', lambda: os.sched_setaffinity(pid, {0})),
        ('scheduling', lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))),
    ):
        try:
            change()
            got(what, 'of', pid)
        except OSError:
            continue
try:
    os.nice(-5)
    got('a higher priority of my own')
except OSError:
    pass
"""
        ),
    ),
    Attack(
        "finds a descriptor that it was not given",
        "server",
        python(
            """
for name in os.listdir('/proc/self/fd'):
    try:
        target = os.readlink(f'/proc/self/fd/{name}')
    except OSError:
        continue
    if int(name) > 2 and '/proc/' not in target:
        got('descriptor', name, target)
for name in os.environ:
    if name not in ('PATH', 'HOME', 'LANG', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'DISPLAY', 'PWD', 'SHLVL', '_',
                    'OLDPWD') and not name.startswith('ALE_'):
        got('variable', name)
"""
        ),
    ),
    Attack(
        "calls the server without a token",
        "server",
        python(
            """
import glob, socket
names = {line.split()[7] for line in open('/proc/net/unix').readlines()[1:] if len(line.split()) > 7}
names |= set(glob.glob('/run/**/*', recursive=True)) | set(glob.glob('/tmp/.X11-unix/*'))
for name in names:
    if 'X11' in name:
        continue
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(chr(0) + name[1:] if name.startswith('@') else name)
        got('a connection to', name)
    except OSError:
        continue
"""
        ),
    ),
    Attack(
        "takes the door's address when nobody has it",
        "server",
        python(
            """
import socket
try:
    socket.create_connection(('127.0.0.1', 7700), 2)
    got('something answers at the door of a run without a model')
except OSError:
    pass
"""
        ),
    ),
    Attack(
        "breaks into the server's directories",
        "server",
        """
got() { printf 'GOT %s\\n' "$*"; }
for place in /run/ale /opt/ale /opt/ale/server /opt /root /etc /usr/bin /usr/lib /usr/local/bin /var/log /run; do
  touch "$place/mine" 2>/dev/null && got "a file in $place"
  mv "$place" "$place.old" 2>/dev/null && got "the name of $place"
done
ls /root >/dev/null 2>&1 && got "root's home"
ls /run/ale/cases >/dev/null 2>&1 && got "the cases of delivered programs"
cat /etc/shadow >/dev/null 2>&1 && got "the passwords"
mkdir -p /run/ale/cases 2>/dev/null && touch /run/ale/cases/x 2>/dev/null && got "a case"
true
""",
    ),
)
