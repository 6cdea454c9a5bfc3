"""Compilation of the inner loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

REORDERING = {"reassoc", "contract", "arcp", "nsz"}
"""The liberties that let a sum be vectorised; unlike `fastmath=True` they keep inf and NaN."""


def kernel(function: Callable[P, R], *, may_reorder: bool = False) -> Callable[P, R]:
    """Compiles a loop over arrays on its first call, and keeps the result for later processes.

    A kernel may call kernels of its own file only: the cache is renewed when that file changes.
    Division follows numpy (no exception at 0): otherwise loops with one are not vectorised.

    Args:
        function: the loop.
        may_reorder: whether sums may be taken in any order; exact searches may not.
    """
    fastmath = REORDERING if may_reorder else set[str]()
    try:
        compiled = numba.njit(
            function, cache=True, nogil=True, fastmath=fastmath, error_model="numpy"
        )
    except RuntimeError:  # numba finds no writable folder for its cache: a read-only install
        compiled = numba.njit(function, nogil=True, fastmath=fastmath, error_model="numpy")
    return cast("Callable[P, R]", compiled)
