/**
 * `packaging/Containerfile`, built and started by buildah on a base that has this machine's libraries, since a registry
 * may not be reached; and `packaging/binnacle.service`, judged by systemd.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildExecutables, executableOf, ownPlatform } from "../../scripts/build-executable.ts";
import { temporaryFolder } from "../harness.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const isHere = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;
const platform = ownPlatform();

function skipReason(): string | false {
  if (platform?.startsWith("linux") !== true || process.getuid?.() !== 0) return "images are built as root on Linux";
  return isHere("buildah") ? false : "buildah is not here";
}

function must(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${stderr}${stdout}`);
  return stdout.trim();
}

/** Copies programs of this machine to a folder, with the libraries that they load. */
function copyPrograms(folder: string, programs: Readonly<Record<string, string>>): void {
  const copy = (from: string, to: string): void => {
    mkdirSync(join(folder, dirname(to)), { recursive: true });
    copyFileSync(realpathSync(from), join(folder, to));
  };
  for (const [program, target] of Object.entries(programs)) {
    if (target !== "") copy(program, target);
    for (const [library] of must("ldd", [program]).matchAll(/\/\S+/g)) copy(library, library);
  }
}

test("the image starts a server that is not root, is healthy, and keeps its data in /data", {
  skip: skipReason(),
}, async (t) => {
  const executable = executableOf(platform!); // the test is skipped without a platform
  await buildExecutables([platform!]);
  const folder = temporaryFolder();
  const storage = ["--root", join(folder, "images"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];
  const buildah = (...args: readonly string[]): string => must("buildah", [...storage, ...args]);
  const base = join(folder, "base");
  const tools = Object.fromEntries(["sh", "mkdir", "chown"].map((name) => [`/bin/${name}`, `/bin/${name}`]));
  copyPrograms(base, { ...tools, [executable]: "" });
  mkdirSync(join(base, "etc"));
  writeFileSync(join(base, "etc/passwd"), "root:x:0:0::/:/bin/sh\n");
  mkdirSync(join(base, "tmp"), { mode: 0o1777 });
  const empty = buildah("from", "scratch");
  buildah("copy", empty, base, "/");
  buildah("commit", "--rm", empty, "base");
  const given = ["--build-arg", "BASE=localhost/base", "--build-arg", `PLATFORM=${platform!}`];
  buildah(
    "build",
    "--isolation",
    "chroot",
    "--pull-never",
    ...given,
    "-f",
    "packaging/Containerfile",
    "-t",
    "image",
    ".",
  );

  const container = buildah("from", "--pull-never", "localhost/image");
  const run = [...storage, "run", "--isolation", "chroot", container, "--", "/usr/local/bin/binnacle"];
  const child = spawn("buildah", [...run, "serve", "--data-dir=/data", "--secure-port=0", "-o", "json"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  assert.equal((JSON.parse(line) as { dataDir: string }).dataDir, "/data");
  assert.equal(must("buildah", [...run, "health"]), "ready");
  const user = must("buildah", [...run, "get", "namespaces", "default", "-o", "name"]);
  assert.equal(user, "namespace/default");
  const config = JSON.parse(buildah("inspect", "--type", "image", "localhost/image")) as {
    readonly OCIv1: { readonly config: { readonly User: string; readonly Entrypoint: readonly string[] } };
  };
  assert.equal(config.OCIv1.config.User, "65532:65532");
  child.kill("SIGTERM");
  await once(child, "exit");
});

const unit = join(root, "packaging/binnacle.service");

test("systemd finds no mistake in the unit, and no service that is more exposed than it must be", {
  skip: isHere("systemd-analyze") ? false : "systemd is not here",
}, () => {
  // The program need not be installed where the test runs.
  const folder = temporaryFolder();
  const own = join(folder, "binnacle.service");
  const text = readFileSync(unit, "utf8");
  writeFileSync(own, text.replaceAll("/usr/local/bin/binnacle", "/bin/true").replace(/^Documentation=.*\n/m, ""));
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", own], { encoding: "utf8" });
  assert.equal(`${status}${stderr}`, "0");
  const judged = must("systemd-analyze", ["security", "--offline=true", unit]);
  const level = /Overall exposure level for \S+: ([\d.]+)/.exec(judged)?.[1];
  assert.ok(Number(level) <= 3, `exposure level ${level}`);
});

test("the unit and the image give the program flags that it has", () => {
  const flags = [unit, join(root, "packaging/Containerfile")].flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/binnacle (?:serve|health) (.*)|"(--[^"]+)"/g)].flatMap(([, line, word]) =>
      (line ?? word ?? "").split(" "),
    ),
  );
  const help = must(process.execPath, ["--conditions=source", "bin/binnacle.ts", "serve", "--help=all"]);
  const health = must(process.execPath, ["--conditions=source", "bin/binnacle.ts", "health", "--help"]);
  assert.ok(flags.length > 3);
  for (const flag of flags) assert.match(help + health, new RegExp(`${flag.split("=")[0]!}\\b`));
});
