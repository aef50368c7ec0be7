"""Knowledge: documents of users and of everybody, read into chunks, and found by their words.

readers.py reads a file into sections, in a process of its own (reader.py); chunks.py cuts sections into chunks;
documents.py keeps them; ingestion.py adds files; search.py finds passages.
"""
