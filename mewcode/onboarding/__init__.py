"""The set-up screen: from nothing to a model that answers."""
