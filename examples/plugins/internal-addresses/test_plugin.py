"""Plain Python: the function is called like any other. `python -m unittest` runs this where `leafgate.py` is on the path."""

import subprocess
import sys
import unittest

from leafgate import Leaf
from plugin import internal_addresses, prepare


def found(text, **config):
    leaf = Leaf(text)
    findings = internal_addresses(prepare(config), leaf)
    return [leaf.text.encode()[finding.start : finding.end].decode() for finding in findings]


class InternalAddresses(unittest.TestCase):
    def test_private_addresses_are_found_and_public_ones_are_not(self):
        self.assertEqual(found("from 10.1.2.3, by é 192.168.0.7. and 8.8.8.8"), ["10.1.2.3", "192.168.0.7"])
        self.assertEqual(found("fe80::1, fd12:3456::1 and 2001:db8::1"), ["fe80::1", "fd12:3456::1"])

    def test_what_only_looks_like_an_address_is_left(self):
        for text in ["version 10.1.2.3.4", "10.1.2.300", "v10.0.0.1", "12:30:45", "a::b::c", "std::fmt"]:
            self.assertEqual(found(text), [], text)

    def test_names_beneath_a_domain_are_found(self):
        text = "on Build-7.corp.example.com, corp.example.com.evil.org, notcorp.example.com"
        self.assertEqual(found(text, domains=["corp.example.com"], networks=[]), ["Build-7.corp.example.com"])

    def test_a_network_that_is_none_is_told_by_place(self):
        with self.assertRaisesRegex(ValueError, "^/networks/1: "):
            prepare({"networks": ["10.0.0.0/8", "10.0.0.1/8"]})


class Sandbox(unittest.TestCase):
    """What the SDK says of what a component has not got."""

    def test_an_import_that_comes_too_late_says_so(self):
        script = """
import sys
import leafgate
leafgate._seal()
try:
    import xmlrpc.client
except ImportError as error:
    sys.__stdout__.write(leafgate._told(error))
"""
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertIn("ImportError: `import xmlrpc` comes too late", ran.stdout)


if __name__ == "__main__":
    unittest.main()
