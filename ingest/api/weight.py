"""What a body would cost to build, bounded before anything is built: a count of its marks, and no parse."""

from ingest.store.arrivals import Fault

# Thrice what a full request of phases and attributes has. A single record stays far below, so that a shipper which
# halves what is refused here loses nothing.
MOST_VALUES = 600_000
# Shapes and JSON objects cost thirty times what a number does.
MOST_OBJECTS = 65_536
# Of a body that the strict reader refuses: the patient one takes several times as long.
MOST_PATIENT = 150_000


def objects_in(text: bytes) -> int:
    """No fewer than the JSON objects of the text: braces within texts count too."""
    return text.count(b"{")


def values_in(text: bytes) -> int:
    """No fewer than the JSON values of the text but the outermost: a list or object has as many marks as it holds."""
    return text.count(b",") + text.count(b"[") + objects_in(text)


def require_weight(text: bytes, most: int = MOST_VALUES) -> None:
    """Raise Fault 413 for a body of more than `most` values, or of more objects than any honest one has."""
    if values_in(text) > most or objects_in(text) > MOST_OBJECTS:
        raise Fault(413, "too_many", "The request holds too many values; send it in two.", "batches")
