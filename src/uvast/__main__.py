"""`python -m uvast` and `torchrun -m uvast`."""

from uvast.cli.start import main

main()
