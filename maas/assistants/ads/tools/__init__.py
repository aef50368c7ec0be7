"""The tools of the advertising assistants, one file a subject, made from deps and vendors."""
