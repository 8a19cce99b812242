"""Parts of declarations that several folders use."""
