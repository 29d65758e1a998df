/** The package of the client library as it is installed: its types, its size, and what an import loads. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../harness.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const isBuilt = existsSync(join(root, "packages/client/dist/index.d.ts"));
// The names are inserted, since no file of the repository imports its own package.
const names = ["binnacle/client", "binnacle/client/kinds", "binnacle/testing", "binnacle"];
const [whole, kinds, testing, server] = names.map((name) => JSON.stringify(name));
const skip = isBuilt ? false : "packages/client/dist/ has no types: npm run build -- --declarations";

/** Creates a folder in which both packages are installed, and types of Node.js. */
function projectWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/binnacle"), "junction");
  symlinkSync(join(root, "packages/client"), join(folder, "node_modules/binnacle-client"), "junction");
  symlinkSync(join(root, "node_modules/@types"), join(folder, "node_modules/@types"), "junction");
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

/** Compiles a project of these files. Returns its folder. */
function compile(files: Readonly<Record<string, string>>): string {
  const folder = projectWith(files);
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--types", "node"];
  const strict = ["--allowImportingTsExtensions", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
  const { status, stdout } = spawnSync(process.execPath, [compiler, ...options, ...strict, ...Object.keys(files)], {
    cwd: folder,
  });
  assert.equal(status, 0, stdout.toString());
  return folder;
}

test("the types of the package are complete and strict, and the README's code has no errors", { skip }, () => {
  const readme = readFileSync(join(root, "packages/client/README.md"), "utf8");
  const blocks = [...readme.matchAll(/```ts(.*)\n([^]*?)```/g)].map(([, name, text]) => ({ name: name!.trim(), text }));
  const codeOf = (file: string): string => blocks.flatMap(({ name, text }) => (name === file ? [text] : [])).join("\n");
  const strict = `
    import { connect } from ${JSON.stringify("binnacle-client")};
    import { type Container, Deployment, Pod } from ${JSON.stringify("binnacle-client/kinds")};
    import { HorizontalPodAutoscaler } from ${JSON.stringify("binnacle-client/kinds/autoscaling/v1")};
    const cluster = await connect();
    const web = await cluster.kind(Deployment).get("web");
    const first: Container | undefined = web.spec.template.spec.containers?.[0];
    const generation: number | undefined = web.metadata.generation;
    const percent: number | undefined = (await cluster.kind(HorizontalPodAutoscaler).get("web")).spec
      .targetCPUUtilizationPercentage;
    // @ts-expect-error There is no such field.
    await cluster.kind(Pod).create({ metadata: { name: "a" }, spec: { container: [] } });
    export { first, generation, percent };`;
  const renamed = strict.replaceAll("binnacle-client", "binnacle/client");
  compile({ "main.ts": codeOf(""), "boats.ts": codeOf("boats.ts"), "strict.ts": strict, "renamed.ts": renamed });
});

test("the client of a test server is that of the package, for the compiler and at run time", { skip }, () => {
  const program = `
    import { ApiError, type Cluster } from ${whole};
    import { ConfigMap } from ${kinds};
    import { startTestServer, type TestServer } from ${testing};
    import { startServer } from ${server};
    const started: TestServer = await startTestServer();
    const cluster: Cluster = await started.client();
    const problem: unknown = await cluster.kind(ConfigMap).get("absent").catch((error: unknown) => error);
    console.log(problem instanceof ApiError, typeof startServer);
    await started.close();`;
  const folder = compile({ "main.ts": program });
  const { status, stdout, stderr } = spawnSync(process.execPath, ["main.ts"], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.equal(stdout, "true function\n");
});

test("fields of kinds have their comments in the types", { skip }, () => {
  const folder = join(root, "packages/client/dist/types");
  const text = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
  assert.match(text, /keeps a number of equal pods running[^]{0,100}interface Deployment/);
  assert.match(
    text,
    /\* The image that is run; a controller's template may leave it out\. \*\/\s+readonly image\?: string;/,
  );
});

test("an import loads neither the connection's package nor that of YAML", { skip }, () => {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { connect } = await import(${whole});
    await import(${kinds});
    const settings = { server: new URL("https://127.0.0.1:1"), tls: { insecure: true }, compress: true,
      credentials: { current: () => ({}), rejected: () => false }, namespace: "default" };
    await (await connect({ settings })).close();
    console.log(JSON.stringify(loaded));`;
  const folder = projectWith({ "main.js": program });
  const { status, stdout, stderr } = spawnSync(process.execPath, ["main.js"], { cwd: folder });
  assert.equal(status, 0, stderr.toString());
  const loaded = JSON.parse(stdout.toString()) as readonly string[];
  assert.ok(loaded.some((url) => url.includes("/packages/client/dist/index.js")));
  assert.deepEqual(
    loaded.filter((url) => /undici|js-yaml|\/dist\/src\//.test(url)),
    [],
  );
});

test("the package and what it needs have at most 5 MB", { skip }, () => {
  const manifest = JSON.parse(readFileSync(join(root, "packages/client/package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const folders = [
    join(root, "packages/client/dist"),
    ...Object.keys(manifest.dependencies).map((name) => join(root, "node_modules", name)),
  ];
  const sizes = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).map((file) =>
      file.isFile() ? statSync(join(file.parentPath, file.name)).size : 0,
    ),
  );
  const installed = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(installed < 5e6, `${installed} bytes are installed`);
});
