"""The state of devices: their answers, and the folders (captures) that hold them."""
