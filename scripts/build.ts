/**
 * `npm run build`: compiles `src/` and `bin/` to `dist/`. Quiet when all is well; incremental, so that `npm start` can
 * call it every time. Outputs whose source is gone are deleted.
 */
import { chmodSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root, tool } from "./steps.ts";

/** Returns the compiler's messages, empty when everything compiled. */
export async function build(): Promise<string> {
  if (!existsSync(join(root, "dist/bin")))
    rmSync(join(root, "node_modules/.cache/binnacle.tsbuildinfo"), { force: true });
  const { ok, output } = await tool("typescript/bin/tsc", ["-p", "tsconfig.build.json"]);
  if (!ok) return output === "" ? "the compiler failed without a word" : output;
  sweep();
  const program = join(root, "dist/bin/binnacle.js");
  if (existsSync(program)) chmodSync(program, 0o755);
  return "";
}

/** Deletes compiled files without a source. */
function sweep(): void {
  const dist = join(root, "dist");
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (!/\.(?:js|d\.ts)$/.test(name)) continue;
    if (!existsSync(join(root, name.replace(/\.(?:js|d\.ts)$/, ".ts")))) rmSync(join(dist, name));
  }
}

if (import.meta.main) {
  const problems = await build();
  if (problems !== "") {
    process.stderr.write(`${problems}\nbuild failed\n`);
    process.exitCode = 1;
  }
}
