"""Compilation of the inner loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R], *, fastmath: bool = False) -> Callable[P, R]:
    """Compiles a loop over arrays on its first call, and keeps the result for later processes.

    A kernel may call kernels of its own file only: the cache is renewed when that file changes.
    Division follows numpy (no exception at 0), else loops with a division are not vectorised.
    """
    options = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no writable folder for its cache: a read-only install
        compiled = numba.njit(**options)(function)
    return compiled
