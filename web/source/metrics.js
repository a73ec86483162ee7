// What scores are called.

export function named(metric) {
  return { roc_auc: "ROC AUC" }[metric] ?? metric;
}
