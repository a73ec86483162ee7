"""Results beside what the paper reports: tables, pictures, reports."""
