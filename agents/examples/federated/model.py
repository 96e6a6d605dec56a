"""A network of two hidden layers in numpy, its weights in one vector: a delta is one subtraction."""

import numpy as np

from federated.data import CLASSES, SIDE, Floats, Labels


class Network:
    """64 pixels -> width -> width -> 10 digits, ReLU between, softmax at the end."""

    def __init__(self, width: int, seed: int = 0) -> None:
        shapes = [(SIDE * SIDE, width), (width, width), (width, CLASSES)]
        self.flat: Floats = np.empty(sum(rows * columns for rows, columns in shapes), np.float32)
        self.layers: list[Floats] = []
        draw, start = np.random.default_rng(seed), 0
        for rows, columns in shapes:
            layer = self.flat[start : start + rows * columns].reshape(rows, columns)
            layer[:] = draw.normal(0, np.sqrt(2 / rows), size=layer.shape)
            self.layers.append(layer)
            start += rows * columns

    def step(self, images: Floats, labels: Labels, rate: float) -> None:
        """One step of gradient descent on the cross-entropy of a batch."""
        inputs = [images]
        for layer in self.layers[:-1]:
            inputs.append(np.maximum(inputs[-1] @ layer, 0))
        error = softmax(inputs[-1] @ self.layers[-1])
        error[np.arange(len(labels)), labels] -= 1
        error /= len(labels)
        for layer, given in zip(reversed(self.layers), reversed(inputs), strict=True):
            gradient = given.T @ error
            error = (error @ layer.T) * (given > 0)
            np.subtract(layer, rate * gradient, out=layer)

    def evaluate(self, images: Floats, labels: Labels) -> tuple[float, float]:
        """(mean cross-entropy in nats, accuracy 0..1) over these digits."""
        hidden = images
        for layer in self.layers[:-1]:
            hidden = np.maximum(hidden @ layer, 0)
        chances = softmax(hidden @ self.layers[-1])
        of_label = chances[np.arange(len(labels)), labels]
        return float(-np.log(of_label + 1e-12).mean()), float((chances.argmax(1) == labels).mean())


def softmax(scores: Floats) -> Floats:
    """Rows of scores as rows of chances."""
    powers = np.exp(scores - scores.max(1, keepdims=True))
    chances: Floats = powers / powers.sum(1, keepdims=True)
    return chances
