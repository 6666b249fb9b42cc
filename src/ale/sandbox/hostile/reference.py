"""Looking for the answers: they are not in the machine, nor is anything of the host or of other runs."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, python

REFERENCE = (
    Attack(
        "reads every file for the key",
        "reference",
        python(
            """
key = os.environ['ALE_YEK'][::-1].encode()
for top, directories, names in os.walk('/'):
    directories[:] = [name for name in directories if os.path.join(top, name) not in ('/proc', '/usr/share', '/usr/lib')]
    for name in names:
        path = os.path.join(top, name)
        try:
            if os.path.isfile(path) and key in open(path, 'rb').read(1 << 24):
                got('the key in', path)
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "looks through other processes",
        "reference",
        python(
            """
import glob
key = os.environ['ALE_YEK'][::-1].encode()
for folder in glob.glob('/proc/[0-9]*'):
    try:
        foreign = os.stat(folder).st_uid != os.getuid()
    except OSError:
        continue
    for name in ('environ', 'maps', 'root/task', 'cwd/.', 'exe', 'stack', 'auxv', 'io', 'fd'):
        path = os.path.join(folder, name)
        try:
            content = b' '.join(map(os.fsencode, os.listdir(path))) if os.path.isdir(path) else open(path, 'rb').read()
        except OSError:
            continue
        if foreign and content:
            got(path, 'of a process that is not mine')
        if key in content:
            got('the key in', path)
"""
        ),
    ),
    Attack(
        "reads the mounts for places on the host",
        "reference",
        python(
            """
for line in open('/proc/self/mountinfo'):
    kind, source, options = line.split(' - ')[1].split()[:3]
    if kind not in ('overlay', 'proc', 'tmpfs', 'devpts', 'devtmpfs'):
        got('a mount of kind', kind, 'from', source)
    for word in options.replace(':', ',').split(','):
        _, _, path = word.partition('=')
        if path.startswith('/') and not path.startswith('/proc/self/fd/'):
            got('a path of the host:', word)
for number in range(3, 200):
    for who in ('self', '1'):
        try:
            got('a layer by descriptor', os.listdir(f'/proc/{who}/fd/{number}')[:5])
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "looks for files of the host and of other machines",
        "reference",
        python(
            """
mark = os.environ['ALE_KRAM'][::-1]
for top, directories, names in os.walk('/'):
    directories[:] = [name for name in directories if os.path.join(top, name) != '/proc']
    for name in (*directories, *names):
        if mark in name:
            got(os.path.join(top, name))
for path in ('/oldroot', '/newroot', '/.oldroot', '/host', '/mnt/wsl', '/var/lib/docker', '/var/run/docker.sock'):
    if os.path.exists(path):
        got(path)
"""
        ),
    ),
    Attack(
        "knows neighbours by processes, sockets and control groups",
        "reference",
        python(
            """
import glob
for folder in glob.glob('/proc/[0-9]*'):
    try:
        owner = os.stat(folder).st_uid
    except OSError:
        continue
    if owner not in (0, 990, 1000):
        got('a process of uid', owner)
for line in open('/proc/self/cgroup'):
    if line.strip().split(':')[2] != '/':
        got('where my control group is:', line.strip())
names = [line.split()[7] for line in open('/proc/net/unix').readlines()[1:] if len(line.split()) > 7]
for name in names:
    if not name.startswith(('/run/ale/', '@/tmp/.X11', '/tmp/.X11')):
        got('a socket of somebody else:', name)
"""
        ),
    ),
    Attack(
        "prepares the reference's place",
        "reference",
        """
got() { printf 'GOT %s\\n' "$*"; }
mkdir /task/reference 2>/dev/null && got "the reference's place is mine"
ln -s /task/output /task/reference 2>/dev/null && got "the reference's place is a link of mine"
mv /task/output /task/elsewhere 2>/dev/null && got "the output's directory can be moved"
mv /task/input /task/reference 2>/dev/null && got "the input's directory can be moved"
chmod 777 /task 2>/dev/null && got "the task's directory is mine"
test -e /task/reference && got "there is a reference"
true
""",
    ),
    Attack(
        "changes what it was given",
        "reference",
        """
got() { printf 'GOT %s\\n' "$*"; }
for file in /task/input/* /task/input /task/software; do
  chmod u+w "$file" 2>/dev/null && got "rights of $file"
  mv "$file" "$file.old" 2>/dev/null && got "name of $file"
  setfattr -n user.x -v x "$file" 2>/dev/null && got "attributes of $file"
done
echo x 2>/dev/null >> /task/input/numbers.txt && got "content of the input"
touch /task/input/new 2>/dev/null && got "a new input"
true
""",
    ),
)
