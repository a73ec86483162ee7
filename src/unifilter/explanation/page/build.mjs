// Bundles the page into built/, with a checksum of every source and every built file in built/checksums.json.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, rmSync, writeFileSync, copyFileSync } from "node:fs";
import { build } from "esbuild";

rmSync("built", { recursive: true, force: true });
await build({
  entryPoints: { page: "source/main.js", explore: "source/explore.js" },
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "unifilterPage",
  target: ["es2020"],
  outdir: "built",
  legalComments: "none",
  banner: { js: "/* Contains uPlot, MIT licence, Copyright (c) 2022 Leon Sorokin */" },
});
copyFileSync("node_modules/uplot/LICENSE", "built/uPlot-LICENSE.txt");

const digest = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
const sources = ["build.mjs", "package-lock.json", "package.json", ...listed("source")];
const checksums = { sources: table(sources), built: table(listed("built")) };
writeFileSync("built/checksums.json", JSON.stringify(checksums, null, 2) + "\n");

function listed(folder) {
  return readdirSync(folder).sort().map((name) => `${folder}/${name}`);
}

function table(paths) {
  return Object.fromEntries(paths.map((path) => [path, digest(path)]));
}
