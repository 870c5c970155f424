"""The console of ``railweave watch``: pages for a browser, made here, that keep themselves up to date and change nothing."""
