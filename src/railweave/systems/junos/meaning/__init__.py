"""The meaning of Junos statements: values of the statement tables from a device's configuration, and back."""
