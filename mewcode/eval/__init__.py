"""`mewcode eval`: measures what memory is worth, on data that the user names."""
