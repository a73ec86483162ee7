"""The explanation page, served on one's own machine: other data sets, uploads, training to watch, filters to compare.

Needs the extra ``explore``. The way of a request: ``guard`` (who may ask, see ``access``), ``app`` (routes), then
``session`` (what is open, one thing at a time), which knows ``opened``, ``reading``, ``training`` and ``trained``;
``uploads`` receives files. ``server`` starts it.
"""
