import unittest

from leafgate import Request, RequestLeaf
from plugin import rewrite


class Tabs(unittest.TestCase):
    def test_tabs_of_results_become_spaces(self):
        leaves = [RequestLeaf("a\tb", "tool-result", id=0), RequestLeaf("a\tb", "text", id=1)]
        edits = rewrite({"width": 2}, Request(leaves))
        self.assertEqual(edits, [leaves[0].set("a  b")])


if __name__ == "__main__":
    unittest.main()
