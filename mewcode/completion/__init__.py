"""Shell completion, made from the argument parser."""
