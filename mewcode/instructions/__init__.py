"""Project instructions: found, their includes expanded, and each line accounted for."""
