"""The state of a search on disk: trials, records, journals."""
