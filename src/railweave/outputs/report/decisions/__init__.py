"""The choices made for a fabric, and the reasons for them: a module per subject."""
