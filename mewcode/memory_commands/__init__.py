"""`mewcode memory`: notes from the shell."""
