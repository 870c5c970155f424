"""The state of devices: values read from the devices' answers, and captures, which are folders of such answers."""
