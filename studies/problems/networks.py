"""The paper's network objectives: a two-layer Keras network on the JAX backend.

It is scored by three-fold cross-validation. Model, optimiser and loss are Keras's. The loop over
batches is compiled as one program per batch size: `model.fit` would compile again for every
network, and a table of scores needs thousands. Layers are as wide as the widest network. A narrower
one has zeros where it has no neurons; they stay zero, because their inputs, outputs and gradients
are. tests/integrations compares it with `model.fit`.

Two objectives: "clean" trains on two folds and scores on the third. "leaky" is the tutorial's: its
model builder trains on all data, including the fold to be scored. Cross-validation then continues
to train that model.
"""

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

WIDEST, LONGEST = 100, 50  # neurons and epochs of the largest network of the search space
N_FOLDS = 3


@dataclass(frozen=True)
class NetworkTask:
    """What is learned, and how."""

    name: str
    n_outputs: int
    activation: str  # of the output layer
    optimizer: str
    loss: str
    patience: int  # epochs without a better loss before the tutorial's builder stops


CLASSIFIER = NetworkTask("nn-classifier", 10, "softmax", "sgd", "categorical_crossentropy", 3)
REGRESSOR = NetworkTask("nn-regressor", 1, "linear", "adam", "mean_squared_error", 5)


def build(task: NetworkTask, n_inputs: int, neurons: int) -> Any:
    """The Keras network, compiled."""
    keras = _keras()
    model = keras.Sequential(
        [
            keras.Input((n_inputs,)),
            keras.layers.Dense(neurons, activation="relu"),
            keras.layers.Dense(neurons, activation="relu"),
            keras.layers.Dense(task.n_outputs, activation=task.activation),
        ]
    )
    model.compile(optimizer=task.optimizer, loss=task.loss)
    return model


def initial_weights(n_inputs: int, neurons: int, n_outputs: int, seed: int) -> list[Floats]:
    """Weights as a Keras Dense layer starts: Glorot's uniform kernel, biases zero."""
    rng = np.random.default_rng([3, seed])
    sizes = [n_inputs, neurons, neurons, n_outputs]
    weights: list[Floats] = []
    for rows, columns in itertools.pairwise(sizes):
        limit = math.sqrt(6 / (rows + columns))
        weights += [
            rng.uniform(-limit, limit, (rows, columns)).astype(np.float32),
            np.zeros(columns, dtype=np.float32),
        ]
    return weights


def widened(weights: list[Floats]) -> list[Floats]:
    """The same network in layers of the greatest width, zeros where it has no neurons."""
    shapes = [
        (weights[0].shape[0], WIDEST),
        (WIDEST,),
        (WIDEST, WIDEST),
        (WIDEST,),
        (WIDEST, weights[4].shape[1]),
        weights[5].shape,
    ]
    return [
        np.pad(w, [(0, s - n) for s, n in zip(shape, w.shape, strict=True)])
        for w, shape in zip(weights, shapes, strict=True)
    ]


def batches(
    n: int, size: int, rows: NDArray[np.int64], n_epochs: int, rng: np.random.Generator | None
) -> NDArray[np.int64]:
    """Rows (epochs, steps, size) of every batch; −1 where the last batch ends early.

    Shuffled anew for each epoch unless rng is None.
    """
    steps = math.ceil(n / size)
    orders = np.full((n_epochs, steps * size), -1)
    for epoch in range(n_epochs):
        orders[epoch, : rows.size] = rows if rng is None else rng.permutation(rows)
    return orders.reshape(n_epochs, steps, size)


@lru_cache(maxsize=64)
def trainer(task: NetworkTask, n_inputs: int) -> Callable[..., tuple[list[Any], list[Any]]]:
    """A compiled function over a leading axis of folds.

    ((weights, memory), X, Y, batches, epochs, patience) → (weights, memory).
    The memory is the optimiser's: training that goes on, as the tutorial's does, goes on with it.
    """
    keras = _keras()
    import jax
    import jax.numpy as jnp

    model = build(task, n_inputs, WIDEST)
    model.optimizer.build(model.trainable_variables)
    loss_of = keras.losses.get(task.loss)

    def loss(weights: Any, x: Any, y: Any, mask: Any) -> Any:
        predicted, _ = model.stateless_call(weights, [], x, training=True)
        return (loss_of(y, predicted) * mask).sum() / jnp.maximum(mask.sum(), 1.0)

    def step(carry: Any, rows: Any, X: Any, Y: Any) -> Any:
        weights, memory = carry
        mask = (rows >= 0).astype(X.dtype)
        value, slopes = jax.value_and_grad(loss)(weights, X[rows], Y[rows], mask)
        moved, remembered = model.optimizer.stateless_apply(memory, slopes, weights)
        used = mask.sum() > 0  # a batch of padding alone changes nothing
        keep = jax.tree.map(
            lambda new, old: jnp.where(used, new, old), (moved, remembered), (weights, memory)
        )
        return keep, value * mask.sum()

    def train(state: Any, X: Any, Y: Any, rows: Any, n_epochs: Any, patience: Any) -> Any:
        count = (rows[0] >= 0).sum()

        def unfinished(state: Any) -> Any:
            epoch, _, _, wait = state
            return (epoch < n_epochs) & (wait < patience)

        def one_epoch(state: Any) -> Any:
            epoch, carry, best, wait = state
            carry, losses = jax.lax.scan(lambda c, r: step(c, r, X, Y), carry, rows[epoch])
            now = losses.sum() / count
            better = now < best
            return epoch + 1, carry, jnp.where(better, now, best), jnp.where(better, 0, wait + 1)

        start = (0, state, jnp.array(jnp.inf, X.dtype), 0)
        return jax.lax.while_loop(unfinished, one_epoch, start)[1]

    in_axes = (0, None, None, 0, None, None)
    return jax.jit(jax.vmap(train, in_axes=in_axes))  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def fresh_memory(task: NetworkTask, n_inputs: int, n_networks: int) -> list[Any]:
    """The initial state of the optimiser, for `n_networks` networks."""
    model = build(task, n_inputs, WIDEST)
    model.optimizer.build(model.trainable_variables)
    return [np.stack([np.asarray(v.value)] * n_networks) for v in model.optimizer.variables]


def folds(n: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to train on and rows to score, for each fold, without shuffling."""
    parts = np.array_split(np.arange(n), N_FOLDS)
    return [
        (np.concatenate([p for j, p in enumerate(parts) if j != i]), parts[i])
        for i in range(N_FOLDS)
    ]


def score(
    task: NetworkTask, X: Floats, y: Floats, neurons: int, batch: int, epochs: int, leaky: bool
) -> float:
    """Mean over the folds of accuracy (classifier) or mean squared error (regressor).

    The same every time it is computed.
    """
    x = X.astype(np.float32)
    Y = (
        np.eye(task.n_outputs, dtype=np.float32)[y.astype(int)]
        if task.n_outputs > 1
        else y.astype(np.float32)[:, None]
    )
    n, splits = len(x), folds(len(x))
    longest = max(rows.size for rows, _ in splits)
    train = trainer(task, x.shape[1])
    networks = [
        widened(initial_weights(x.shape[1], neurons, task.n_outputs, seed))
        for seed in range(N_FOLDS)
    ]
    state: Any = (
        [np.stack(layer) for layer in zip(*networks, strict=True)],
        fresh_memory(task, x.shape[1], N_FOLDS),
    )
    forever = LONGEST + 1
    if leaky:
        everything = [
            batches(n, batch, np.arange(n), LONGEST, np.random.default_rng([7, seed]))
            for seed in range(N_FOLDS)
        ]
        state = train(state, x, Y, np.stack(everything), epochs, task.patience)
    rows = [
        batches(longest, batch, r, LONGEST, np.random.default_rng([11, seed]))
        for seed, (r, _) in enumerate(splits)
    ]
    weights, _ = train(state, x, Y, np.stack(rows), epochs, forever)
    scores = [
        _evaluate(task, [np.asarray(w[i]) for w in weights], x[scored], y[scored])
        for i, (_, scored) in enumerate(splits)
    ]
    return float(np.mean(scores))


def _evaluate(task: NetworkTask, weights: list[Floats], X: Floats, y: Floats) -> float:
    """Accuracy or mean squared error of a network on data."""
    hidden = np.maximum(X @ weights[0] + weights[1], 0)
    out = np.maximum(hidden @ weights[2] + weights[3], 0) @ weights[4] + weights[5]
    return (
        float((out.argmax(axis=1) == y).mean())
        if task.n_outputs > 1
        else float(((out[:, 0].astype(float) - y) ** 2).mean())
    )


def _keras() -> Any:
    """Keras on JAX; Keras reads the backend once, when it is first imported."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    try:
        import jax  # noqa: F401
        import keras
    except ImportError as error:
        raise ValueError(
            f"the network tasks need Keras and JAX ({error}); install bktf[networks]"
        ) from None
    if keras.backend.backend() != "jax":
        raise ValueError(
            f"the network tasks need Keras on JAX; it runs on {keras.backend.backend()}: "
            "set KERAS_BACKEND=jax"
        )
    return keras
