"""What an authenticator app shows: the time-based codes of RFC 6238, with SHA-1, six digits and 30 s."""

import base64
import hashlib
import hmac
import struct
import time


def code(secret: str, at: float | None = None) -> str:
    """The code of a base32 secret, at a Unix time or now."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    counter = struct.pack(">Q", int((time.time() if at is None else at) // 30))
    digest = hmac.new(key, counter, hashlib.sha1).digest()
    offset = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[offset : offset + 4])[0] & 0x7FFFFFFF) % 10**6:06d}"
