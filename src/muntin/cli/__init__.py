"""The command ``muntin``: reads job files and arguments, calls the library, renders what it returns. Owns no logic."""
