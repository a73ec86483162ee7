"""``unifilter explore``: the explanation page, with everything that needs a server."""

from __future__ import annotations

from typing import Annotated

import typer

from unifilter.cli.options import DataDir, Device
from unifilter.datasets import load_dataset
from unifilter.datasets.catalog import CATALOG, normalized


def explore_command(
    name_or_path: Annotated[str, typer.Argument(help="Name of a data set, or path of a file or a folder of tables.")],
    port: Annotated[int, typer.Option(help="Port to serve on; 0 picks a free one.", min=0, max=65535)] = 0,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    max_upload_mb: Annotated[int, typer.Option(help="Maximum size of an uploaded file, in megabytes.", min=1)] = 200,
    device: Device = "cpu",
    data_dir: DataDir = None,
) -> None:
    """Serve an interactive page on this machine: explore data sets, upload files, watch training, compare filters.

    Only this machine can reach the page. Requires `pip install 'unifilter[explore]'`.
    """
    # Imported here: only this command needs the extra.
    from unifilter.explore.opened import open_dataset
    from unifilter.explore.server import bind, serve
    from unifilter.explore.session import Session

    with bind(port) as listening:  # before the data is read, so that a port in use is reported at once
        published = normalized(name_or_path) in {entry.name for entry in CATALOG}
        opened = open_dataset(load_dataset(name_or_path, data_dir), published, device)
        session = Session(opened, data_dir, max_upload_mb * 1_000_000, device)
        serve(session, listening, open_page, typer.echo)
