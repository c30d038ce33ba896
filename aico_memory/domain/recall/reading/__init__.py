"""A learned reader beside the rules: which words of what was said answer a question, or whether the rules do, or nothing."""
