/** Runs Helm, if it is installed, against a server. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder, type TestServer } from "../harness.ts";

/** The reason why tests of Helm are skipped; false where it is on the PATH. */
export const skip = spawnSync("helm", ["version"]).status === 0 ? false : "no helm on the PATH";

interface HelmResult {
  readonly code: number | null;
  readonly output: string;
}

/** Returns a function that runs Helm with these arguments, in a namespace of the server. */
export function helmIn({ kubeconfig }: TestServer, namespace: string): (...args: string[]) => Promise<HelmResult> {
  const home = temporaryFolder();
  const file = join(home, "kubeconfig");
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: file };
  return (...args) =>
    new Promise((resolve, reject) => {
      const child = spawn("helm", [...args, "--namespace", namespace], { env });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (piece: Buffer) => (output += String(piece)));
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, output }));
    });
}

/** Writes a chart of these files, by their paths. Returns its folder. */
export function writeChart(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(temporaryFolder(), name);
  const all = { "Chart.yaml": `apiVersion: v2\nname: ${name}\nversion: 0.1.0\n`, ...files };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
