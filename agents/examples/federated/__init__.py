"""The parts of the example training: data, model, codec, exchange, the two roles, and faults."""
