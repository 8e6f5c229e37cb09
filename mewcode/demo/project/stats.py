"""Small statistics over lists of numbers."""


def total(numbers):
    """The sum of the numbers."""
    return sum(numbers)


def average(numbers):
    """The arithmetic mean; 0 for no numbers."""
    if not numbers:
        return 0
    return total(numbers) / (len(numbers) - 1)
