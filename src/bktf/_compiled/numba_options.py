"""Numba's options, in one module.

Numba optimises a function together with everything it calls, and again for each caller, so deep
call chains compile slowly. `operation` breaks such a chain: it makes a typed function pointer that
compiled functions take as an argument.
"""

import functools
import logging
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.extending import typeof_impl

T = TypeVar("T")

_logger = logging.getLogger("bktf")

# "contract" lets the compiler fuse a·b + c, which rounds once instead of twice. Other fast-math
# options are off, because they would reorder sums.
_OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
}

VOID = numba.void
INT = numba.int64
FLOAT = numba.float64
VECTOR = numba.float64[::1]
INTS = numba.int64[::1]
GRID = numba.int64[:, ::1]
MATRIX = numba.float64[:, ::1]
CUBE = numba.float64[:, :, ::1]
RNG = numba.typeof(np.random.default_rng(0))  # type: ignore[no-untyped-call]

COMPILING = (
    "bktf: compiling its kernels once, up to about a minute; later processes load them from disk"
)
NO_CACHE = (
    "bktf: no writable folder for compiled code, so every process compiles again "
    "(up to about a minute); set NUMBA_CACHE_DIR to a folder that can be written"
)


@functools.cache
def _warn_once(message: str) -> None:
    _logger.warning(message)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on first use, without the interpreter lock, and cache it on disk."""
    return _compile(function, **_OPTIONS)


def compiled_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only compiled functions call.

    It has no entry point from Python, which would take half of the compile time for large records.
    """
    return _compile(function, no_cpython_wrapper=True, **_OPTIONS)


def _compile(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    try:
        return cast(Callable[..., Any], numba.njit(cache=True, **options)(function))
    except RuntimeError:  # Numba found no writable cache folder
        _warn_once(NO_CACHE)
        return cast(Callable[..., Any], numba.njit(**options)(function))


def operation(result: Any, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[[], Any]]:
    """Turn a function into one that returns a typed pointer to it, compiled on the first call.

    Code that takes such a pointer does not depend on its target: it is compiled and cached once for
    all targets.
    """

    def decorate(function: Callable[..., Any]) -> Callable[[], Any]:
        @functools.cache
        def pointer() -> Any:
            signature = result(*arguments)
            announce_compilation(compiled(function))
            try:
                return numba.cfunc(signature, cache=True, error_model="numpy")(function)
            except RuntimeError:
                _warn_once(NO_CACHE)
                return numba.cfunc(signature, error_model="numpy")(function)

        return functools.wraps(function)(pointer)

    return decorate


def record(cls: type[T]) -> type[T]:
    """Register a NamedTuple of arrays, numbers, pointers and records as an argument type.

    Numba infers the type of such an argument field by field on every call, which takes a
    millisecond for the larger ones. Here the result is cached by what it depends on.
    """
    cached_types: dict[Hashable, Any] = {}
    infer_from_fields = typeof_impl.dispatch(tuple)

    def type_of(value: Any, context: Any) -> Any:
        key = _typing_key(value)
        if key not in cached_types:
            cached_types[key] = infer_from_fields(value, context)
        return cached_types[key]

    typeof_impl.register(cls)(type_of)
    return cls


def _typing_key(value: Any) -> Any:
    """What Numba's type depends on: the layout of an array, a number's class, a pointer itself."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return (
            value.dtype,
            value.ndim,
            flags.c_contiguous,
            flags.f_contiguous,
            flags.writeable,
            flags.aligned,
        )
    if isinstance(value, tuple):
        return tuple(map(_typing_key, value))
    return type(value) if isinstance(value, int | float | np.generic) else value


def announce_compilation(entry: Callable[..., Any]) -> None:
    """Log once, before the delay, that `entry` and what it calls will be compiled."""
    dispatcher = cast(Any, entry)
    # No attribute: compilation is switched off.
    is_ready = getattr(dispatcher, "signatures", True)
    if is_ready:
        return
    folder = dispatcher.stats.cache_path
    if folder is not None and not any(Path(folder).glob(f"*.{dispatcher.py_func.__name__}-*.nbi")):
        _warn_once(COMPILING)
