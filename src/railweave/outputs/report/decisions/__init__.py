"""The choices made for a fabric, and the reasons for them. There is a module for each subject."""
