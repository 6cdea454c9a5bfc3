"""`python -m uvast` and `torchrun -m uvast`."""

from uvast.cli.main import main

main()
