"""Words every layer shares: errors, time, rows in columns, watermarks. Imports nothing of the project."""
