/** The pages of the documentation: their links lead to files that exist, and the example of an embedded server runs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { temporaryFolder } from "../harness.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the pages of a folder and those below it. */
const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
    .map((name) => join(root, folder, name));

const pages = [
  ...readdirSync(root).flatMap((name) => (name.endsWith(".md") ? [join(root, name)] : [])),
  ...["docs", "examples", "packages"].flatMap(pagesIn),
];

/** Returns the name by which a link reaches a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

test("every page of the documentation is on the site, once", async () => {
  // The site is no part of the program, so its files are not among those that the program imports.
  const listed = pathToFileURL(join(root, "website/.vitepress/pages.ts")).href;
  const { pages: sitePages } = (await import(listed)) as { readonly pages: readonly string[] };
  const shown = pages.map((page) => relative(root, page)).filter((page) => !page.startsWith("packages/"));
  assert.deepStrictEqual(sitePages.toSorted(), shown.toSorted());
});

test("no link of the documentation is dead", () => {
  const dead: string[] = [];
  for (const page of pages) {
    const text = readFileSync(page, "utf8").replaceAll(/^```.*?^```/gms, "");
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      const [path = "", anchor = ""] = target!.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      const isThere = existsSync(file);
      const anchors =
        isThere && anchor !== ""
          ? [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, text]) => anchorOf(text!))
          : [anchor];
      if (!isThere || !anchors.includes(anchor)) dead.push(`${relative(root, page)}: ${target}`);
    }
  }
  assert.deepEqual(dead, []);
});

test("the example of an embedded server runs", () => {
  const page = readFileSync(join(root, "docs/embedding.md"), "utf8");
  const [, code = ""] = /```ts\n(.*?)```/s.exec(page) ?? [];
  const folder = temporaryFolder();
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/binnacle"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "embed.ts"), `${code}console.log("done");\n`);
  const { stdout, stderr } = spawnSync(process.execPath, ["embed.ts"], { cwd: folder, encoding: "utf8" });
  assert.equal(stdout, "done\n", stderr);
});
