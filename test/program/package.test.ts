/** The package as a dependency: TypeScript users get types for every entry point. */
import assert from "node:assert";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundledPackages } from "../../scripts/layers.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const isBuilt = existsSync(join(root, "dist/src/server/start-server.d.ts"));

// The name is inserted here, since the package is not installed under it.
const binnacle = JSON.stringify("binnacle");

const program = `
import { startServer, type RunningServer } from ${binnacle};

const server: RunningServer = await startServer({ storage: "memory", securePort: 0 });
const token: string = server.admin.token;
await server.close();
// @ts-expect-error There is no such option.
await startServer({ securPort: 0 });
// @ts-expect-error A port is a number.
await startServer({ securePort: "0" });
`;

test("the entry point has types", { skip: isBuilt ? false : "dist/ is not built: npm run build" }, () => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-package-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(root, join(folder, "node_modules/binnacle"), "junction");
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "user.ts"), program);
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2024"];
    const { status, stdout } = spawnSync(process.execPath, [compiler, ...options, "user.ts"], { cwd: folder });
    assert.strictEqual(status, 0, stdout.toString());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("what the package holds: links of its pages lead to files in it, and stack traces name the source", {
  skip: isBuilt ? false : "dist/ is not built: npm run build",
}, () => {
  const { stdout } = spawnSync("npm", ["pack", "--dry-run", "--ignore-scripts", "--json"], { cwd: root });
  const [packed] = JSON.parse(stdout.toString()) as readonly [{ readonly files: readonly { readonly path: string }[] }];
  const files = new Set(packed.files.map(({ path }) => path));
  const links = [...files]
    .filter((path) => path.endsWith(".md"))
    .flatMap((path) =>
      Array.from(readFileSync(join(root, path), "utf8").matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g), ([, to]) =>
        posix.join(posix.dirname(path), to!),
      ),
    );
  assert.ok(links.length > 10);
  assert.deepStrictEqual(
    // A link may lead to a folder.
    links.filter((to) => !files.has(to) && !packed.files.some(({ path }) => path.startsWith(`${to}/`))),
    [],
  );
  assert.ok(
    packed.files.filter(({ path }) => /\.d\.[cm]?ts$/.test(path) && !path.startsWith("dist/client/")).length < 12,
  );
  const program = `const { startServer } = await import(${JSON.stringify(join(root, "dist/src/server/start-server.js"))});
    await startServer({ storage: "memory", bindAddress: "999.1.1.1" });`;
  const args = ["--enable-source-maps", "--input-type=module", "--eval", program];
  assert.match(spawnSync(process.execPath, args).stderr.toString(), /src\/server\/listener\.ts:\d+/);
});

test("the compiled program finds its own modules, also through a link", {
  skip: isBuilt ? false : "dist/ is not built: npm run build",
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-link-"));
  try {
    const link = join(folder, "a program%20#1");
    symlinkSync(root, link, "junction");
    const { status, stdout, stderr } = spawnSync(process.execPath, [
      join(link, "dist/bin/binnacle.js"),
      "serve",
      "--help",
    ]);
    assert.strictEqual(status, 0, stderr.toString());
    assert.match(stdout.toString(), /--data-dir/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("licences of packages in the bundle lie beside it", {
  skip: isBuilt ? false : "dist/ is not built: npm run build",
}, () => {
  const text = readFileSync(join(root, "dist/third-party-licenses.txt"), "utf8");
  for (const name of bundledPackages) assert.match(text, new RegExp(`^${name} [\\d.]+\n\n.*(?:MIT|Copyright)`, "m"));
});

test("a signal to npm start stops the server in good order", {
  skip: isBuilt ? false : "dist/ is not built: npm run build",
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-npm-"));
  try {
    const flags = ["--data-dir", join(folder, "data"), "--secure-port=0", "-o", "json"];
    const npm = spawn("npm", ["start", "--silent", "--ignore-scripts", "--", ...flags], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    npm.stderr.on("data", (piece: Buffer) => {
      stderr += piece.toString();
    });
    const closed = once(npm, "close");
    await once(npm.stdout, "data");
    npm.kill("SIGTERM");
    // The output closes when the server has ended too.
    await closed;
    assert.match(stderr, /"msg":"stopped"/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("an older Node.js is told which one the program needs, in one line and by a file that it can read", () => {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { engines: { node: string } };
  const entry = join(root, "bin/binnacle.ts");
  // An old Node.js parses only this file, which imports no other before its check.
  assert.doesNotMatch(readFileSync(entry, "utf8"), /^import /m);
  const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.1.0" } });';
  const run = spawnSync(process.execPath, [`--import=data:text/javascript,${encodeURIComponent(older)}`, entry]);
  const needed = engines.node.replace(">=", "");
  assert.strictEqual(run.stderr.toString(), `binnacle: needs Node.js ${needed} or newer, and this is 22.1.0\n`);
  assert.strictEqual(run.status, 1);
});

test("the package starts servers under conditions that other packages use", {
  skip: isBuilt ? false : "dist/ is not built: npm run build",
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-conditions-"));
  try {
    // The package is installed without the source tree.
    const installed = join(folder, "node_modules/binnacle");
    mkdirSync(installed, { recursive: true });
    for (const part of ["package.json", "dist"]) cpSync(join(root, part), join(installed, part), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(installed, "node_modules"), "junction");
    const user = `import { startServer } from ${binnacle};
      const server = await startServer({ securePort: 0, dataDir: "data" });
      await server.close();`;
    writeFileSync(join(folder, "user.mjs"), user);
    const { status, stderr } = spawnSync(process.execPath, ["--conditions=source", "user.mjs"], { cwd: folder });
    assert.strictEqual(status, 0, stderr.toString());
    assert.strictEqual(stderr.toString(), "", "an embedded server is silent");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
