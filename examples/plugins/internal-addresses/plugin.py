"""A detector of addresses that mean something inside a house alone: those of its networks, and names beneath its domains."""

import ipaddress
import re

from leafgate import detector

SCHEMA = {
    "type": "object",
    "properties": {
        "networks": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Networks as `10.0.0.0/8` or `fd00::/8`; the private ones by default.",
        },
        "domains": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Domains, beneath which every name is internal: `corp.example.com`.",
        },
    },
    "additionalProperties": False,
}

PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10"]

# What may be an address; `ipaddress` decides. A version of four parts and a part of something longer are none.
V4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
V6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")


def prepare(config):
    """Networks by version, and one pattern for all domains."""
    networks = []
    for place, text in enumerate(config.get("networks", PRIVATE)):
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError:
            raise ValueError(f"/networks/{place}: not a network, as `10.0.0.0/8` is, or its host bits are set") from None
    names = "|".join(re.escape(domain.strip(".")) for domain in config.get("domains", []))
    hosts = re.compile(rf"(?<![\w.-])(?:[\w-]+\.)+(?:{names})(?![\w-]|\.\w)", re.IGNORECASE) if names else None
    return networks, hosts


@detector(labels=["ADDRESS", "HOST"], schema=SCHEMA, prepare=prepare)
def internal_addresses(state, leaf):
    """Finds addresses and host names of internal networks."""
    networks, hosts = state
    found = leaf.find(hosts, "HOST") if hosts else []
    for pattern in (V4, V6):
        for match in pattern.finditer(leaf.text):
            if is_inside(match[0], networks):
                found.append(leaf.finding(*match.span()))
    return found


def is_inside(text, networks):
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in networks)
