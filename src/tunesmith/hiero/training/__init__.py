"""From parallel text to a grammar and a language model."""
