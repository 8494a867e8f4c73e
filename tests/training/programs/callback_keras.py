"""Trains a line with Keras, until Milepost says stop."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy
from milepost.keras import MilepostCallback

x = numpy.linspace(-1, 1, 64)[:, None]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01), loss="mse")
callback = MilepostCallback()
model.fit(
    x, 3 * x + 0.5, batch_size=8, epochs=1_000_000, verbose=0, callbacks=[callback], validation_data=(x, 3 * x + 0.5)
)
print(f"stopped after {callback._step} steps: {callback.run.stop}", flush=True)
