"""Ways out: there is a loopback and nothing behind it."""

from __future__ import annotations

from ale.sandbox.hostile.attack import Attack, python

NETWORK = (
    Attack(
        "connects to the host",
        "network",
        python(
            """
import socket
port = int(os.environ['ALE_PORT'])
gateways = ['10.0.2.2', '172.17.0.1', '192.168.0.1', '192.168.122.1', '10.0.0.1', '100.100.100.200']
for address in ['127.0.0.1', 'localhost', '::1', *os.environ['ALE_ADDRESSES'].split(), *gateways]:
    for number in (port, 22, 80, 443):
        try:
            socket.create_connection((address, number), 0.3).close()
            got('connected to', address, number)
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "asks the cloud who it is",
        "network",
        python(
            """
import socket
for address in ('169.254.169.254', '169.254.170.2', 'fd00:ec2::254', 'metadata.google.internal', '100.100.100.200'):
    for number in (80, 443, 8080):
        try:
            socket.create_connection((address, number), 0.3).close()
            got('connected to', address, number)
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "asks for names",
        "network",
        python(
            """
import socket
for name in ('example.com', 'host.docker.internal', 'github.com'):
    try:
        got(name, socket.getaddrinfo(name, 80)[0][4])
    except OSError:
        continue
question = bytes.fromhex('123401000001000000000000076578616d706c6503636f6d0000010001')
for server in ('1.1.1.1', '8.8.8.8', '127.0.0.53', '169.254.169.253'):
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.settimeout(0.3)
    try:
        asked.sendto(question, (server, 53))
        asked.recv(512)
        got('an answer from', server)
    except OSError:
        continue
"""
        ),
    ),
    Attack(
        "uses sockets that know no network",
        "network",
        python(
            """
import socket
for family in range(1, 50):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        if family not in (1, 2, 10, 16):
            got('a socket of family', family)
        elif family in (2, 10) and kind == 3:
            got('a raw socket')
for port in (1, 22, 1024, 7700, 9999):
    for machine in (0, 1, 2, 3):
        try:
            connection = socket.socket(getattr(socket, 'AF_VSOCK', 40), socket.SOCK_STREAM)
            connection.settimeout(0.2)
            connection.connect((machine, port))
            got('vsock', machine, port)
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "connects to abstract sockets of the host",
        "network",
        python(
            """
import socket
for name in (os.environ['ALE_ABSTRACT'], '/tmp/.X11-unix/X0', '/tmp/dbus-x', 'containerd', '/run/dbus/system_bus_socket'):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            socket.socket(socket.AF_UNIX, kind).connect(chr(0) + name)
            got('connected to', name)
        except OSError:
            continue
"""
        ),
    ),
    Attack(
        "makes a network of its own",
        "network",
        python(
            """
import fcntl, socket, struct
interfaces = [name for _, name in socket.if_nameindex()]
if interfaces != ['lo']:
    got('interfaces', interfaces)
if len(open('/proc/net/route').readlines()) > 1:
    got('a route')
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for request, value in ((0x8914, struct.pack('16sH14x', b'lo', 0)), (0x8916, struct.pack('16sH2x4s8x', b'lo', 2, bytes(4)))):
    try:
        fcntl.ioctl(control, request, value.ljust(40, bytes(1)))
        got('changed the loopback', hex(request))
    except OSError:
        continue
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.settimeout(1)
# RTM_NEWLINK of a dummy interface, acknowledged
payload = struct.pack('=BxHiII', 0, 0, 0, 0, 0) + struct.pack('=HH8s', 12, 3, b'dummy0') + struct.pack('=HHHH8s', 16, 18, 9, 1, b'dummy')
message = struct.pack('=IHHII', 16 + len(payload), 16, 0x605, 1, 0) + payload
try:
    netlink.send(message)
    answer = netlink.recv(4096)
    if struct.unpack('=HHII i', answer[4:16] + answer[16:20])[4] == 0:
        got('a new interface')
except (OSError, struct.error):
    pass
"""
        ),
    ),
)
