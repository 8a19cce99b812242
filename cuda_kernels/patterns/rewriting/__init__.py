"""Other spellings of what patterns look for, written in an exported graph as the patterns have it.

What has more spellings than functions could be listed for is found by its structure here: rules
for `cd.torch.Pattern(..., rewrites=...)`.
"""
