"""`python -m ale.cli`, for when the console script is not on the PATH."""

from ale.cli import main

main()
