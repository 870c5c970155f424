"""The browser console of ``railweave watch``: read-only pages that update themselves."""
