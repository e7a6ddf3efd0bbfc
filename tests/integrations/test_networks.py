"""The compiled training loop of the network tasks against Keras's own `fit`."""

import numpy as np
import pytest

from studies.problems import networks, tuning
from studies.problems.networks import CLASSIFIER, REGRESSOR, NetworkTask


def _data(task: NetworkTask) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = tuning.load_data("digits" if task is CLASSIFIER else "boston")
    X, y = X[:101].astype(np.float32), y[:101]
    return (
        X,
        y,
        np.eye(10, dtype=np.float32)[y.astype(int)]
        if task is CLASSIFIER
        else y.astype(np.float32)[:, None],
    )


@pytest.mark.parametrize("task", [CLASSIFIER, REGRESSOR], ids=lambda task: task.name)
@pytest.mark.parametrize(("neurons", "batch", "epochs"), [(10, 16, 4), (37, 64, 3), (100, 50, 2)])
def test_training_is_that_of_keras_fit(
    task: NetworkTask, neurons: int, batch: int, epochs: int
) -> None:
    X, _, Y = _data(task)
    weights = networks.initial_weights(X.shape[1], neurons, task.n_outputs, 0)
    model = networks.build(task, X.shape[1], neurons)
    model.set_weights(weights)
    model.fit(X, Y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0)
    rows = networks.batches(len(X), batch, np.arange(len(X)), networks.LONGEST, None)
    wide = [w[None] for w in networks.widened(weights)]
    state = (wide, networks.fresh_memory(task, X.shape[1], 1))
    train = networks.trainer(task, X.shape[1])
    ours, memory = train(state, X, Y, rows[None], epochs, networks.LONGEST + 1)
    expected = networks.widened(model.get_weights())
    for mine, theirs in zip(ours, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(mine[0]), theirs, rtol=2e-3, atol=2e-4
        )  # single precision, another order of sums
    model.fit(
        X, Y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0
    )  # goes on, and so does what Adam remembers
    ours, _ = train((ours, memory), X, Y, rows[None], epochs, networks.LONGEST + 1)
    for mine, theirs in zip(ours, networks.widened(model.get_weights()), strict=True):
        np.testing.assert_allclose(np.asarray(mine[0]), theirs, rtol=4e-3, atol=4e-4)
    assert not np.any(np.asarray(ours[0][0])[:, neurons:])  # neurons that are not there stay away
    predicted = model.predict(X, verbose=0)
    _, y, _ = _data(task)
    score = (
        (predicted.argmax(axis=1) == y).mean()
        if task is CLASSIFIER
        else ((predicted[:, 0] - y) ** 2).mean()
    )
    assert networks._evaluate(task, [np.asarray(w[0]) for w in ours], X, y) == pytest.approx(
        float(score), rel=1e-2
    )


@pytest.mark.parametrize("task", [CLASSIFIER, REGRESSOR], ids=lambda task: task.name)
def test_patience_ends_training_as_early_stopping_does(task: NetworkTask) -> None:
    keras = networks._keras()  # on JAX

    X, _, Y = _data(task)
    Y = (
        np.roll(Y, 1, axis=0)[::-1]
        if task is CLASSIFIER
        else np.random.default_rng(0).choice([-1.0, 1.0], Y.shape).astype(np.float32)
    )
    X = X if task is CLASSIFIER else 1e-3 * X  # nothing to learn: the loss soon stops falling
    weights = [
        50 * w if task is CLASSIFIER else w
        for w in networks.initial_weights(X.shape[1], 12, task.n_outputs, 1)
    ]
    model = networks.build(task, X.shape[1], 12)
    model.set_weights(weights)
    stop = keras.callbacks.EarlyStopping(monitor="loss", patience=2)
    history = model.fit(X, Y, batch_size=20, epochs=40, shuffle=False, verbose=0, callbacks=[stop])
    n_epochs = len(history.history["loss"])
    rows = networks.batches(len(X), 20, np.arange(len(X)), networks.LONGEST, None)[None]
    wide = [w[None] for w in networks.widened(weights)]
    train = networks.trainer(task, X.shape[1])
    state = (wide, networks.fresh_memory(task, X.shape[1], 1))
    (patient, _), (exact, _) = (
        train(state, X, Y, rows, 40, 2),
        train(state, X, Y, rows, n_epochs, 1000),
    )
    assert n_epochs < 40
    for a, b in zip(patient, exact, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_scores_are_the_same_every_time_and_the_leak_flatters() -> None:
    X, y = tuning.load_data("digits")
    clean = networks.score(CLASSIFIER, X, y, 40, 32, 20, leaky=False)
    assert clean == networks.score(CLASSIFIER, X, y, 40, 32, 20, leaky=False)
    leaky = networks.score(CLASSIFIER, X, y, 40, 32, 20, leaky=True)
    assert 0.85 < clean < 0.96
    assert leaky > 0.97


def test_folds_are_those_of_scikit_learn() -> None:
    from sklearn.model_selection import KFold

    for n in (1797, 506):
        for (train, held), (expected_train, expected_held) in zip(
            networks.folds(n), KFold(3).split(np.zeros(n)), strict=True
        ):
            np.testing.assert_array_equal(train, expected_train)
            np.testing.assert_array_equal(held, expected_held)


def test_batches_hold_every_row_once_and_end_with_padding() -> None:
    rows = networks.batches(10, 4, np.arange(20, 30), 3, np.random.default_rng(0))
    assert rows.shape == (3, 3, 4)
    for epoch in rows:
        assert sorted(epoch.ravel()[epoch.ravel() >= 0]) == list(range(20, 30))
        assert (epoch.ravel()[-2:] == -1).all()
    assert not np.array_equal(rows[0], rows[1])


def test_a_network_task_runs_through_the_command(tmp_path: object) -> None:
    from pathlib import Path

    from studies.lines import read_lines
    from studies.paper import __main__ as paper

    folder = Path(str(tmp_path))
    arguments = [
        "--quick",
        "--tasks",
        "nn-regressor",
        "nn-regressor-leaky",
        "--methods",
        "tpe",
        "bktf-ei",
        "--jobs",
        "1",
    ]
    assert paper.main(["tuning", *arguments, "--results", str(folder)]) == 0
    assert len(read_lines(folder / "quick" / "tuning.jsonl")) == 4
    assert len(read_lines(folder / "quick" / "scores" / "nn-regressor.jsonl")) >= 4
