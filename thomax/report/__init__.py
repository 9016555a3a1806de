"""What a person looks at: a search as one HTML file that opens offline."""

from thomax.report.writing import follow, write_report

__all__ = ["follow", "write_report"]
