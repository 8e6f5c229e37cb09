"""Documents that the user named, as passages that can be found."""
