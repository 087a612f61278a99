"""Tools that were described in a conversation, loaded by the API itself."""
