"""What a fabric file sets knob by knob, as a device has it: management, timers, load balancing and queues.

These types are the device's own: a reader of running configurations makes them without a fabric file. Their fields have the
names and defaults of the fabric file's (docs/fabric-file.md says what each means); ``as_wanted`` takes them from there.
"""
