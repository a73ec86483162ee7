// The server behind the page, which is on the same machine.

/** An answer as a value; a refusal becomes an error with the server's own words. */
export async function ask(path) {
  return answered(fetch(path));
}

export async function tell(path, words = {}) {
  return answered(fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(words) }));
}

/** Sends files one right after another; `limit` is what the server would refuse, so that nobody waits for that. */
export async function upload(files, limit) {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (size > limit) {
    throw new Error(`${listed(files)} has ${megabytes(size)}, more than the limit of ${megabytes(limit)}: start \`unifilter explore\` with a larger --max-upload-mb, or with the path of the file`);
  }
  const headers = { "Content-Type": "application/octet-stream" };
  const described = new URLSearchParams(files.flatMap((file) => [["name", file.name], ["size", file.size]]));
  return answered(fetch(`/upload?${described}`, { method: "POST", headers, body: new Blob(files) }));
}

/** The names of files, in words. */
export function listed(files) {
  return files.map((file) => file.name).join(" and ");
}

/** Follows a training: `onEpochs` gets what is new, `onEnd` how it ended. */
export function follow(onEpochs, onEnd) {
  const events = new EventSource("/events");
  events.addEventListener("epochs", (event) => onEpochs(JSON.parse(event.data)));
  events.addEventListener("end", (event) => {
    events.close();
    onEnd(JSON.parse(event.data));
  });
  // While the server is away the browser tries again by itself, and then gets every epoch from the first.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) onEnd({ state: "failed", message: "the server has ended: start it again" });
  });
}

export function megabytes(bytes) {
  return `${(bytes / 1e6).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} MB`;
}

async function answered(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Error("the server does not answer: see whether `unifilter explore` is still running");
  }
  const value = await response.json();
  if (!response.ok) throw new Error(value.message);
  return value;
}
