"""`bench context`: what each stage of a context brings, one of them taken away or changed at a time."""
