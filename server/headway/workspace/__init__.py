"""What the files say: documents, the listing, the index and its store."""
