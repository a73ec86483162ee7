"""What a finished run has to say, as a page for people: from a plain dict of numbers to words, pictures and HTML.

The dict is what ``report.json`` holds. Numbers are finite or ``None``, and names are the user's.

- ``title``, ``unifilter`` (version), ``created`` (ISO date), ``command`` (or ``None``), ``method``, ``metric``
- ``task``: ``"classification"``, ``"multilabel"`` or ``"regression"``
- ``dataset``: ``name``, ``nodes``, ``edges``, ``columns`` (each ``name`` and ``kind``), ``features``, ``classes``,
  ``labeled``, ``isolated``, ``edge_homophily``, ``adjusted_homophily``
- ``split``: ``name``, ``count`` (how many), and the sizes ``train``, ``val``, ``test`` of one
- ``warnings`` (sentences), ``nothing_learned``
- ``scores``: each ``name``, ``role`` (``"model"``, ``"mlp"``, ``"majority"``), ``mean``, ``std``, ``values`` per split
- ``metrics``: for each metric ``mean`` and ``std``
- ``classes``, summed over the splits: each ``name``, ``precision``, ``recall``, ``f1``, ``support``, ``predicted``
- ``confusion``: ``names`` and ``counts`` with a row for each true class, or ``None``
- ``calibration``: ``error``, ``error_before``, ``temperature``, and ``bins`` of ``confidence``, ``accuracy``, ``count``
- ``sets``: ``alpha``, ``coverage``, ``mean_size``
- ``residuals``: ``quantiles`` (``"5"``, ``"25"``, ``"50"``, ``"75"``, ``"95"``) and ``points`` of true and predicted
- ``spectrum``: ``frequency``, ``weight``, ``weight_spread`` of each hop, empty for a filter without weights per hop;
  ``response``, ``response_low``, ``response_high`` at the eigenvalues ``lam``; ``span``, between which the features
  have energy
- ``importance``: ``hops``, ``features`` (each ``name`` and ``value``), ``classes`` (each ``name`` and ``features``)
- ``history``: ``best_epochs``, ``epochs``, ``seconds`` per split; ``settings``: the method's

``calibration``, ``sets``, ``residuals``, ``spectrum`` and ``importance`` are ``None`` where a run has none.
"""

from unifilter.reports.next_steps import next_steps
from unifilter.reports.page import render_report
from unifilter.reports.run_report import report_run, write_report
from unifilter.reports.verdict import verdict

__all__ = ["next_steps", "render_report", "report_run", "verdict", "write_report"]
