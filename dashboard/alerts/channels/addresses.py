"""Which addresses a webhook may be sent to: public ones, and networks that the operator has named."""

import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence

from dashboard.alerts.channels.letter import Undelivered

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Sequence[str]]
_UNICAST = ipaddress.ip_network("2000::/3")  # all of IPv6 that is given to anybody (RFC 4291)
# Ways into networks that `is_global` takes for public: shared addresses of providers, and IPv4 inside of IPv6.
_REFUSED: tuple[Network, ...] = tuple(
    map(
        ipaddress.ip_network,
        ("100.64.0.0/10", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "192.88.99.0/24"),
    )
)


def literal(host: str) -> Address | None:
    """The address that a host is written as, in whatever way the system's resolver reads; None for a name.

    What is called localhost is this machine's (RFC 6761, 6.3).
    """
    if host == "localhost" or host.endswith(".localhost"):
        return ipaddress.ip_address("127.0.0.1")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return ipaddress.ip_address(str(found[0][4][0]).partition("%")[0])


def refusal(host: str, networks: Sequence[Network]) -> str:
    """Why nothing is ever sent to a host that is written as an address, in a sentence; empty where it may be."""
    address = literal(host)
    if address is None or allowed(address, networks):
        return ""
    return f"Refused: {address} is not on the public internet. Whoever runs the server may allow its network."


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system's resolver has them; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def allowed(address: Address, networks: Sequence[Network] = ()) -> bool:
    """Whether it is public, or in one of the operator's `networks`. An IPv4 address inside IPv6 counts as itself."""
    inner = getattr(address, "ipv4_mapped", None)
    if inner is not None:
        return allowed(inner, networks)
    if any(address in network for network in networks):
        return True
    public = address.is_global and not (address.is_multicast or address.is_reserved)
    if address.version == 6:
        public = public and address in _UNICAST
    return public and not any(address in network for network in _REFUSED)


def checked(host: str, port: int, resolver: Resolver, networks: Sequence[Network], within_s: float) -> str:
    """The address to connect to. One that is refused refuses its name: who mixes them means no good.

    Raises Undelivered, for good where the host is written as an address that is refused.
    """
    if why := refusal(host, networks):
        raise Undelivered(why, for_good=True)
    found = _within(lambda: resolver(host, port), within_s)
    if not found:
        raise Undelivered(f"The name {host} has no address.")
    for text in found:
        if not allowed(ipaddress.ip_address(text.partition("%")[0]), networks):
            raise Undelivered(f"Refused: {host} is {text}, which is not on the public internet.")
    return found[0]


def _within(ask: Callable[[], Sequence[str]], within_s: float) -> Sequence[str]:
    """The system's resolver knows no time limit, so that it is asked in a thread that may be left behind."""
    answer: list[Sequence[str] | Exception] = []

    def asked() -> None:
        try:
            answer.append(ask())
        except (OSError, UnicodeError) as error:
            answer.append(error)

    thread = threading.Thread(target=asked, daemon=True)
    thread.start()
    thread.join(within_s)
    if not answer:
        raise Undelivered(f"The name was not resolved within {within_s:.0f} s.")
    if isinstance(answer[0], Exception):
        raise Undelivered(f"The name was not resolved: {answer[0]}.")
    return answer[0]
