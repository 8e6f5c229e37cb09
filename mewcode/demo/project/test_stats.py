import unittest

from stats import average, total


class StatsTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2, 3]), 6)

    def test_average(self):
        self.assertEqual(average([2, 4, 6]), 4)

    def test_average_of_nothing(self):
        self.assertEqual(average([]), 0)
