"""Files, locks, processes: what every part stands on."""
