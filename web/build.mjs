// Bundles both pages into the Python package, with a checksum of every source and every built file in checksums.json.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, rmSync, writeFileSync, copyFileSync, mkdirSync } from "node:fs";
import { build } from "esbuild";

const pages = {
  page: { source: "source/main.js", folder: "../src/unifilter/explanation/page/built" },
  explore: { source: "source/explore.js", folder: "../src/unifilter/explore/page/built" },
};

for (const [name, { source, folder }] of Object.entries(pages)) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: { [name]: source },
    bundle: true,
    minify: true,
    format: "iife",
    globalName: "unifilterPage",
    target: ["es2020"],
    outdir: folder,
    legalComments: "none",
    banner: { js: "/* Contains uPlot, MIT license, Copyright (c) 2022 Leon Sorokin */" },
  });
  copyFileSync("node_modules/uplot/LICENSE", `${folder}/uPlot-LICENSE.txt`);
}

const digest = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
const sources = ["build.mjs", "package-lock.json", "package.json", ...listed("source")];
const built = Object.values(pages).flatMap(({ folder }) => listed(folder));
writeFileSync("checksums.json", JSON.stringify({ sources: table(sources), built: table(built) }, null, 2) + "\n");

function listed(folder) {
  return readdirSync(folder).sort().map((name) => `${folder}/${name}`);
}

function table(paths) {
  return Object.fromEntries(paths.map((path) => [path, digest(path)]));
}
