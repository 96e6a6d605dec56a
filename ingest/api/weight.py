"""What a body would cost to build, bounded before anything is built: a count of its marks, and no parse."""

from ingest.store.arrivals import Fault

# Thrice what a full request of phases and attributes has. A single record stays far below, so that a shipper which
# halves what is refused here loses nothing.
MOST_VALUES = 600_000
# Shapes and JSON objects cost thirty times what a number does.
MOST_OBJECTS = 65_536
# Of a body that the strict reader refuses: the patient one takes several times as long.
MOST_PATIENT = 150_000
# Counted a part at a time: within one count nothing else of this process runs.
_PART_BYTES = 256 << 10


def require_weight(text: bytes, most: int = MOST_VALUES) -> None:
    """Raise Fault 413 for a body of more than `most` values, or of more objects than any honest one has.

    What is counted is no fewer than its JSON values but the outermost: a list or object has as many marks as it holds.
    Marks within texts count too. No more is looked at than is needed to find out.
    """
    values = objects = 0
    for begin in range(0, len(text), _PART_BYTES):
        commas, lists, braces = (text.count(mark, begin, begin + _PART_BYTES) for mark in (b",", b"[", b"{"))
        objects += braces
        values += commas + lists + braces
        if values > most or objects > MOST_OBJECTS:
            raise Fault(413, "too_many", "The request holds too many values; send it in two.", "batches")
