/** Each project of `examples/`, copied to a folder of its own with this package installed, and tested there as its README says. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../harness.ts";
import { serveProgram } from "../program/program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const examples = join(root, "examples");

/** Copies a project to a new folder in which the package is installed. */
function install(name: string): string {
  const folder = temporaryFolder();
  cpSync(join(examples, name), folder, { recursive: true });
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  symlinkSync(root, join(folder, "node_modules/binnacle"));
  symlinkSync(join(root, "packages/client"), join(folder, "node_modules/binnacle-client"));
  const program = join(folder, "node_modules/.bin/binnacle");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${join(root, "dist/bin/binnacle.js")}' "$@"\n`, {
    mode: 0o755,
  });
  return folder;
}

/** Runs a command in a project; it must end well. Returns its output. */
function run(folder: string, command: string, ...args: readonly string[]): string {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, KUBECONFIG: ___, ...rest } = process.env;
  const env = { ...rest, PATH: `${join(folder, "node_modules/.bin")}:${process.env["PATH"] ?? ""}` };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, env, encoding: "utf8" });
  assert.equal(status, 0, `${command} ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

const isHere = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0;

test("each example has a row on the page, and a README", () => {
  const page = readFileSync(join(examples, "README.md"), "utf8");
  for (const { name } of readdirSync(examples, { withFileTypes: true }).filter((one) => one.isDirectory())) {
    assert.ok(page.includes(`[${name}](${name})`), name);
    assert.ok(existsSync(join(examples, name, "README.md")), name);
  }
});

for (const name of ["controller", "embedding"]) {
  test(`the tests of the example ${name} pass`, () => void run(install(name), process.execPath, "--test"));
}

test("the types of the controller's kind are those that the program prints", () => {
  const folder = install("controller");
  assert.equal(run(folder, "binnacle", "types", "boats.yaml"), readFileSync(join(folder, "boats.ts"), "utf8"));
});

for (const name of ["webhook", "platform"]) {
  // The program openssl makes their certificates.
  const skip = isHere("openssl", "version") ? false : "no openssl is here";
  test(`the tests of the example ${name} pass`, { skip }, () => void run(install(name), process.execPath, "--test"));
}

test("the tests of the example pytest pass", {
  skip: isHere("python3", "-m", "pytest", "--version") ? false : "no pytest is here",
}, () => {
  assert.match(run(install("pytest"), "python3", "-m", "pytest", "-p", "no:cacheprovider"), /4 passed/);
});

test("the example migration moves a namespace with its kinds, and nothing differs", async (t) => {
  const folder = install("migration");
  const [from, to] = await Promise.all(
    ["from", "to"].map((name) => serveProgram(folder, `--data-dir=${name}`, "--storage=memory", "--api-domain=k8s.io")),
  );
  t.after(() => [from, to].forEach((server) => server!.child.kill())); // both were started
  const { kubeconfig } = from!; // the first of two
  const given = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "prices", namespace: "shop" }, data: { ketch: "12" } },
    {
      apiVersion: "harbour.example.com/v1",
      kind: "Boat",
      metadata: { name: "ketch", namespace: "shop" },
      spec: { berth: "A7" },
    },
  ];
  const source = `--kubeconfig=${kubeconfig}`;
  cpSync(join(examples, "controller/boats.yaml"), join(folder, "boats.yaml"));
  writeFileSync(join(folder, "objects.json"), given.map((object) => JSON.stringify(object)).join("\n"));
  run(folder, "binnacle", "apply", "-f", "boats.yaml", source);
  run(folder, "binnacle", "wait", "crds/boats.harbour.example.com", "--for=condition=Established", source);
  run(folder, "binnacle", "apply", "-f", "objects.json", source);

  const said = run(folder, "./migrate.sh", kubeconfig, to!.kubeconfig, "shop");
  assert.match(said, /what differs in shop:\nnothing\n$/);
  const moved = run(
    folder,
    "binnacle",
    "get",
    "boats",
    "ketch",
    "-n",
    "shop",
    "-o",
    "jsonpath={.spec.berth}",
    `--kubeconfig=${to!.kubeconfig}`,
  );
  assert.equal(moved.trim(), "A7");
});

test("the suite of the example go-envtest passes", { skip: missingGo() }, (t) => {
  const folder = install("go-envtest");
  process.env["KUBEBUILDER_ASSETS"] = join(folder, "assets");
  t.after(() => delete process.env["KUBEBUILDER_ASSETS"]);
  run(folder, "binnacle", "envtest", "assets");
  run(folder, "go", "test", "-count=1", "./...");
});

/** Returns the reason why the Go suite cannot run here. */
function missingGo(): string | false {
  if (!isHere("go", "version")) return "Go is not here";
  const env = { ...process.env, GOPROXY: "off", GOTOOLCHAIN: "local" };
  const { status } = spawnSync("go", ["list", "-deps", "-test", "."], { cwd: join(examples, "go-envtest"), env });
  return status === 0 ? false : "the Go modules of examples/go-envtest are not here";
}

test("the example vps installs what its units and its configuration name, and a server takes that configuration", async (t) => {
  const folder = install("vps");
  const target = join(folder, "root");
  process.env["ROOT"] = target;
  process.env["UNIT"] = join(root, "packaging/binnacle.service");
  t.after(() => {
    delete process.env["ROOT"];
    delete process.env["UNIT"];
  });
  const program = join(folder, "node_modules/.bin/binnacle");
  const config = join(target, "etc/binnacle/config.yaml");
  run(folder, "./install.sh", program, "api.example.com");
  run(folder, "./install.sh", program, "other.example.com");
  const text = readFileSync(config, "utf8");
  assert.match(text, /^tls-san: \[api\.example\.com\]$/m, "what somebody may have edited stays");
  writeFileSync(config, text.replaceAll(/(?=\/(?:var\/lib|etc)\/)/g, target));
  mkdirSync(join(target, "var/lib/binnacle"), { recursive: true });
  const serving = await serveProgram(folder, `--config=${config}`, "--data-dir=data");
  t.after(() => serving.child.kill());
  run(folder, "binnacle", "create", "role", "reader", "--verb=get", "--resource=pods", "--data-dir=data");
  const log = readFileSync(join(target, "var/lib/binnacle/audit.log"), "utf8");
  assert.match(log, /"verb":"create","user":\{"username":"[^"]+"/);
  if (!isHere("systemd-analyze", "--version")) return;
  const units = join(target, "etc/systemd/system");
  for (const name of readdirSync(units)) {
    const own = readFileSync(join(units, name), "utf8").replaceAll("/usr/local/bin/binnacle", "/bin/true");
    writeFileSync(join(units, name), own.replace(/^Documentation=.*\n/m, ""));
  }
  const files = readdirSync(units).map((name) => join(units, name));
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", ...files], { encoding: "utf8" });
  assert.equal(`${status}${stderr}`, "0");
});
