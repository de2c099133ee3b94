"""What several protocols share: decoding, tool arguments and calls, usage, errors, media, texts. No I/O, no clock."""
