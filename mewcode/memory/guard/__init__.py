"""What notes and instructions forbid or demand, held against what is about to be done."""
