import unittest

from leafgate import Leaf
from plugin import find, prepare


class Words(unittest.TestCase):
    def test_a_word_is_found_wherever_it_stands(self):
        pattern = prepare({"words": ["Zeppelin"]})
        findings = find(pattern, Leaf("Zeppelin, on Zeppelin"))
        self.assertEqual([(found.start, found.end) for found in findings], [(0, 8), (13, 21)])

    def test_an_empty_word_is_nowhere(self):
        self.assertEqual(find(prepare({"words": [""]}), Leaf("Zeppelin")), [])


if __name__ == "__main__":
    unittest.main()
