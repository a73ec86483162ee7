"""The explanation page as a local server: other data sets, uploads, live training, comparison of filters.

Needs the extra ``explore``. A request passes ``guard`` (access control, see ``access``), ``app`` (routes), then
``session`` (the open data set, one operation at a time), which uses ``opened``, ``reading``, ``training`` and
``trained``. ``uploads`` receives files. ``server`` starts the server.
"""
