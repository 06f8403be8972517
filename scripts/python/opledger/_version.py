__version__ = "0.0.0"  # scripts/release writes the version of the tag
