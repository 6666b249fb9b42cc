"""The computer server: runs as pid 1 inside every sandbox and does there what a Session asks (docs/protocol.md).

Standard library only, and little of it at import: a sandbox starts as fast as this does. The folder is copied into a
machine as it is and run with `python3 -I -S FOLDER`, so nothing in it may import from the rest of the package.
"""

PROTOCOL = 1
