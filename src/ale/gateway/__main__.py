"""`python -m ale.gateway`: the gateway process. Started by `ale.gateway.client`, with its end of the line as stdin."""

from __future__ import annotations

import os
import socket
import sys

from ale.gateway.server import serve


def main() -> int:
    try:
        control = socket.socket(fileno=os.dup(0))
    except OSError:
        sys.stderr.write("this program is started by the conductor, which hands it a socket as standard input\n")
        return 2
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    serve(control)
    return 0


if __name__ == "__main__":
    sys.exit(main())
