"""The choices made for a fabric, and the reasons for them. Each module covers one topic: addressing, the fabric, or QoS."""
