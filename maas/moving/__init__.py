"""Moving a user from one database to another."""
