"""The state of devices: values read from their answers, and the folders of answers (captures)."""
