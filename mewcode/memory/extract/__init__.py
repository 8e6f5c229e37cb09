"""Notes out of a conversation: when to look, what a model is asked, what its answer says, what the store is
asked to do. Pure: no file but the prompt beside it, no clock."""
