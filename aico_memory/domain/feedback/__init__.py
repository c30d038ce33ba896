"""What people say of an answer in their own words, sorted into six categories."""
