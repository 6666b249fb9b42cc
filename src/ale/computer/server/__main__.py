"""`python3 -I -S FOLDER`: makes the folder importable under its own name and starts the server."""

import sys
from importlib import import_module

folder, _, name = sys.path[0].rpartition("/")
sys.path[0] = folder or "/"
import_module(name + ".init").main()
