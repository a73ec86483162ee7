"""The explanation page, served on one's own machine: other data sets, uploads, training to watch, filters to compare.

Needs the extra ``explore``. The way of a request: ``app`` (routes) and ``guard`` (who may ask), then ``session`` (what
is open, one thing at a time), which knows ``opened``, ``uploads``, ``training`` and ``trained``. ``server`` starts it.
"""
