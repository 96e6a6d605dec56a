"""A vector of weights in four bits each: quantised in blocks, packed and compressed."""

import lzma
import struct

import numpy as np

from federated.data import Floats

BLOCK = 64
STEPS = 7  # a block's largest value is 7 steps; four bits hold -7..7
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 18}]
HEADER = struct.Struct("<QI")  # how many values, how many bytes of scales


def encode(values: Floats) -> tuple[bytes, Floats]:
    """(the packed vector, what `decode` will give back): the difference is what four bits cannot hold."""
    blocks = np.pad(values, (0, -len(values) % BLOCK)).reshape(-1, BLOCK)
    scales = (np.abs(blocks).max(1, keepdims=True) / STEPS).astype(np.float32)
    codes = np.rint(blocks / np.where(scales > 0, scales, 1)).astype(np.int8)
    restored: Floats = (codes * scales).reshape(-1)[: len(values)]
    nibbles = (codes.reshape(-1) + STEPS).astype(np.uint8)
    packed = lzma.compress((nibbles[::2] | nibbles[1::2] << 4).tobytes(), lzma.FORMAT_RAW, filters=FILTERS)
    return HEADER.pack(len(values), scales.nbytes) + scales.tobytes() + packed, restored


def decode(blob: bytes) -> Floats:
    """The vector that `encode` packed."""
    count, size = HEADER.unpack_from(blob)
    scales = np.frombuffer(blob, np.float32, size // 4, HEADER.size).reshape(-1, 1)
    packed = lzma.decompress(blob[HEADER.size + size :], lzma.FORMAT_RAW, filters=FILTERS)
    pairs = np.frombuffer(packed, np.uint8)
    nibbles = np.stack([pairs & 15, pairs >> 4], axis=1).reshape(-1, BLOCK)
    values: Floats = ((nibbles.astype(np.int8) - STEPS) * scales).reshape(-1)[:count]
    return values
