"""Reports on finished runs: turns a plain dict of numbers into sentences, charts and an HTML page.

The dict is the content of ``report.json``. Numbers are finite or ``None``, and names are those of the user's data.

- ``title``, ``unifilter`` (version), ``created`` (ISO date), ``command`` (or ``None``), ``method``, ``metric``
- ``task``: ``"classification"``, ``"multilabel"`` or ``"regression"``
- ``dataset``: ``name``, ``nodes``, ``edges``, ``columns`` (each ``name`` and ``kind``), ``features``, ``classes``,
  ``labeled``, ``isolated``, ``edge_homophily``, ``adjusted_homophily``
- ``split``: ``name``, ``count`` (number of splits), and the sizes ``train``, ``val``, ``test`` of one split
- ``warnings`` (sentences), ``nothing_learned``
- ``scores``: each ``name``, ``role`` (``"model"``, ``"mlp"``, ``"majority"``), ``mean``, ``std``, ``values`` per split
- ``metrics``: for each metric ``mean`` and ``std``
- ``classes``, summed over splits: each ``name``, ``precision``, ``recall``, ``f1``, ``support``, ``predicted``
- ``confusion``: ``names`` and ``counts`` with one row per true class, or ``None``
- ``calibration``: ``error``, ``error_before``, ``temperature``, and ``bins`` of ``confidence``, ``accuracy``, ``count``
- ``sets``: ``alpha``, ``coverage``, ``mean_size``
- ``residuals``: ``quantiles`` (``"5"``, ``"25"``, ``"50"``, ``"75"``, ``"95"``) and ``points`` (true, predicted)
- ``members`` of a portfolio: each ``name``, ``val_score``, ``standard_error``, ``weight``, ``seconds``, ``note``
- ``spectrum``: ``frequency``, ``weight``, ``weight_spread`` of each hop, empty for a filter without weights per hop;
  ``response``, ``response_low``, ``response_high`` at the eigenvalues ``lam``; ``span``, the range of eigenvalues in
  which the features have energy
- ``importance``: ``hops``, ``features`` (each ``name`` and ``value``), ``classes`` (each ``name`` and ``features``)
- ``history``: ``best_epochs``, ``epochs``, ``seconds`` per split; ``settings``: the settings of the method

``calibration``, ``sets``, ``residuals``, ``spectrum`` and ``importance`` are ``None`` if a run does not have them.
"""

from unifilter.reports.next_steps import next_steps
from unifilter.reports.page import render_report
from unifilter.reports.run_report import report_run, write_report
from unifilter.reports.verdict import verdict

__all__ = ["next_steps", "render_report", "report_run", "verdict", "write_report"]
