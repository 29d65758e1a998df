/** Files of kubeconfigs in temporary folders, and certificates for them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../harness.ts";

/** Writes files by their names, which may contain folders, into a new folder, and returns its path. */
export function filesIn(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export const base64 = (text: string): string => Buffer.from(text).toString("base64");

interface OneContext {
  readonly cluster?: object;
  readonly user?: object;
  readonly context?: object;
}

/** Returns a kubeconfig with one context, `shop`, of the cluster `harbour` and the user `jo`. */
export function kubeconfigOf({ cluster = {}, user = {}, context = {} }: OneContext): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "shop",
    clusters: [{ name: "harbour", cluster: { server: "https://127.0.0.1:1", ...cluster } }],
    users: [{ name: "jo", user }],
    contexts: [{ name: "shop", context: { cluster: "harbour", user: "jo", ...context } }],
  });
}
