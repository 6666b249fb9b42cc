"""Attacks on the kernel that the machine shares with its host."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, python

_CALLS = """
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == 'x86_64'
def call(name, number, *arguments):
    '''Succeeding is what must not be; so is an error which says that it only was asked in the wrong way.'''
    if not x86:
        return
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    number = ctypes.get_errno()
    if result >= 0 or number not in (errno.EPERM, errno.ENOSYS, errno.EACCES, errno.EAFNOSUPPORT):
        got(name, 'gives', result, errno.errorcode.get(number, number))
"""

KERNEL = (
    Attack(
        "writes kernel settings",
        "kernel",
        python(
            """
for top, directories, names in os.walk('/proc/sys'):
    for name in names:
        path = os.path.join(top, name)
        try:
            with open(path, 'r+b', buffering=0) as setting:
                setting.write(setting.read(4096))
            got(path, 'can be written')
        except OSError:
            continue
for path in ('/proc/sysrq-trigger', '/proc/kcore', '/proc/kmsg', '/proc/kpageflags', '/dev/mem', '/dev/kmsg', '/dev/kvm',
             '/dev/fuse', '/dev/vda', '/dev/sda', '/dev/loop0', '/dev/net/tun', '/proc/1/sched', '/proc/scsi/scsi'):
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, flags))
            if (path, flags) != ('/proc/1/sched', os.O_RDONLY):
                got(path, 'can be opened')
        except OSError:
            continue
if os.path.isdir('/sys') and os.listdir('/sys'):
    got('/sys is there')
"""
        ),
    ),
    Attack(
        "makes namespaces and mounts",
        "kernel",
        python(
            _CALLS
            + """
for name, flag in (('time', 0x80), ('mount', 0x20000), ('cgroup', 0x2000000), ('uts', 0x4000000), ('ipc', 0x8000000),
                   ('user', 0x10000000), ('pid', 0x20000000), ('net', 0x40000000)):
    call('unshare ' + name, 272, flag)
    call('clone3 ' + name, 435, 0, 0)
    for owner in ('1', 'self'):
        try:
            descriptor = os.open(f'/proc/{owner}/ns/{name if name != "mount" else "mnt"}', os.O_RDONLY)
        except OSError:
            continue
        call('setns ' + name, 308, descriptor, 0)
call('mount', 165, b'none', b'/mnt', b'tmpfs', 0, 0)
call('umount', 166, b'/proc', 2)
call('pivot_root', 155, b'/', b'/mnt')
call('chroot', 161, b'/tmp')
call('fsopen', 430, b'tmpfs', 0)
call('open_tree', 428, -100, b'/', 1)
call('mount_setattr', 442, -100, b'/', 0, 0, 0)
"""
        ),
    ),
    Attack(
        "asks for what seldom is asked for",
        "kernel",
        python(
            _CALLS
            + """
buffer = ctypes.create_string_buffer(256)
for name, number, arguments in (
    ('bpf', 321, (0, buffer, 64)), ('perf_event_open', 298, (buffer, 0, -1, -1, 0)), ('userfaultfd', 323, (0,)),
    ('io_uring_setup', 425, (8, buffer)), ('keyctl', 250, (0, -3, 1)), ('add_key', 248, (b'user', b'x', b'x', 1, -3)),
    ('request_key', 249, (b'user', b'x', 0, 0)), ('fanotify_init', 300, (0, 0)),
    ('open_by_handle_at', 304, (-100, buffer, 0)), ('init_module', 175, (buffer, 1, b'')),
    ('finit_module', 313, (0, b'', 0)), ('kexec_load', 246, (0, 0, 0, 0)), ('reboot', 169, (0xfee1dead, 0x28121969, 0)),
    ('swapon', 167, (b'/tmp/x', 0)), ('acct', 163, (b'/tmp/x',)), ('syslog', 103, (3, buffer, 10)),
    ('quotactl', 179, (0, 0, 0, 0)), ('iopl', 172, (3,)), ('ioperm', 173, (0, 1, 1)), ('modify_ldt', 154, (0, buffer, 1)),
    ('kcmp', 312, (1, 1, 0, 0, 0)), ('x32 getpid', 0x40000000 + 39, ()),
):
    call(name, number, *arguments)
"""
        ),
    ),
    Attack(
        "gains rights",
        "kernel",
        python(
            """
import subprocess
fields = dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)
for name in ('CapEff', 'CapPrm', 'CapAmb'):
    if int(fields[name], 16):
        got(name, fields[name].strip())
if fields['NoNewPrivs'].strip() != '1':
    got('new privileges by a program')
if fields['Seccomp'].strip() != '2':
    got('no filter')
for change in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgid(0), lambda: os.setgroups([0]),
               lambda: os.chown('/tmp', 1000, 1000), lambda: os.mknod('/tmp/null', 0o20666, os.makedev(1, 3))):
    try:
        change()
        got('a right that only root has')
    except OSError:
        continue
for top, directories, names in os.walk('/usr'):
    for name in names:
        path = os.path.join(top, name)
        if os.path.isfile(path) and os.stat(path).st_mode & 0o6000 and os.path.basename(path) in ('su', 'mount', 'passwd'):
            done = subprocess.run([path, '--help'], capture_output=True)
open('/tmp/suid', 'wb').write(open('/usr/bin/id', 'rb').read())
os.chmod('/tmp/suid', 0o6755)
if subprocess.run(['/tmp/suid', '-u'], capture_output=True).stdout.strip() == b'0':
    got('root')
for command in (['su', '-c', 'id'], ['setpriv', '--reuid', '0', 'id'], ['unshare', '-r', 'id'], ['newgrp', 'root']):
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        continue
    if done.returncode == 0:
        got(*command)
"""
        ),
    ),
    Attack(
        "types into its caller's terminal",
        "kernel",
        python(
            """
import fcntl
for name in ('/dev/tty', '/dev/console', '/dev/pts/0', '/dev/ptmx', '/proc/self/fd/0'):
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        continue
    for request in (0x5412, 0x541C):
        try:
            fcntl.ioctl(descriptor, request, b'x')
            got('typed into', name)
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "sets the clock",
        "kernel",
        python(
            """
import ctypes, subprocess, time
before = time.time()
libc = ctypes.CDLL(None, use_errno=True)
now = (ctypes.c_long * 2)(1, 0)
for clock in range(12):
    if libc.clock_settime(clock, now) == 0:
        got('clock', clock)
if libc.settimeofday(now, 0) == 0:
    got('the time of day')
timex = ctypes.create_string_buffer(256)
timex[0:4] = (0x4000 | 2).to_bytes(4, 'little')
if libc.adjtimex(timex) >= 0:
    got("the clock's speed")
if subprocess.run(['date', '-s', '2001-01-01'], capture_output=True).returncode == 0:
    got('the date')
if abs(time.time() - before) > 25:
    got('another time')
"""
        ),
    ),
)
