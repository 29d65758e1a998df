/**
 * `npm run test:client -- --kubeconfig FILE`: runs the tests of the client library against the server of a kubeconfig. They
 * make namespaces and a definition there, which are removed at the end. The usage is below.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { type Cluster, connect } from "#client/cluster.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import { CustomResourceDefinition, Namespace, SelfSubjectAccessReview } from "#client/kinds.ts";
import { defaultSettings } from "#client/kubeconfig.ts";
import { oneLine } from "#std/printable.ts";
import { removeDefinition } from "../test/client/remove-definition.ts";
import { readCommandLine } from "./command-line.ts";
import { findTests, printFailures, printSkips, runTests } from "./run-tests.ts";
import { root } from "./steps.ts";

const usage = `Runs the tests of the client library (test/client/) against any server of the API.

Usage: npm run test:client -- [FILE...] [options]

  FILE               a part of the names of the test files to run: watching; default: all
  --kubeconfig FILE  the server and its user; default: $KUBECONFIG, ~/.kube/config
  --context NAME     a context of it; default: its current one
  -v, --verbose      name the tests that are skipped, below each reason
  -h, --help         print this

The user must be allowed to do everything, also to impersonate others. The tests create namespaces and the definition
boats.harbour.example.com, all with the label binnacle-test, and remove them. A definition of this name is replaced.
Tests that need something that only a server of their own has are skipped, with the reason.`;

const { values, positionals } = readCommandLine(
  usage,
  {
    kubeconfig: { type: "string" },
    context: { type: "string" },
    verbose: { type: "boolean", short: "v", default: false },
  },
  true,
);

/** The text of a kubeconfig with the present credential, which needs no other file and no program. */
async function kubeconfigOf({ server, tls, credentials }: ConnectionSettings): Promise<string> {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const ca = await tls.ca?.();
  const { token, certificate } = await credentials.current();
  const user =
    certificate === undefined
      ? { token }
      : { "client-certificate-data": base64(certificate.cert), "client-key-data": base64(certificate.key) };
  const cluster = {
    server: server.href,
    ...(ca === undefined ? {} : { "certificate-authority-data": base64(ca) }),
    ...(tls.serverName === undefined ? {} : { "tls-server-name": tls.serverName }),
    ...(tls.insecure ? { "insecure-skip-tls-verify": true } : {}),
  };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "given", cluster }],
    users: [{ name: "given", user }],
    contexts: [{ name: "given", context: { cluster: "given", user: "given" } }],
    "current-context": "given",
  });
}

/** Checks that the tests can run. Throws with the reason. */
async function checkRights(cluster: Cluster): Promise<void> {
  const { status } = await cluster.kind(SelfSubjectAccessReview).create({
    spec: { resourceAttributes: { group: "*", resource: "*", verb: "*" } },
  });
  if (!status.allowed) throw new Error("the user of the kubeconfig may not do everything, which the tests need");
}

/** Removes what the tests have made. */
async function removeObjects(cluster: Cluster, run: string): Promise<void> {
  const labels = { "binnacle-test": run };
  const definitions = cluster.kind(CustomResourceDefinition);
  for await (const { metadata } of definitions.list({ labels })) await removeDefinition(cluster, metadata.name);
  const namespaces = cluster.kind(Namespace);
  for await (const { metadata } of namespaces.list({ labels })) await namespaces.delete(metadata.name);
}

async function main(): Promise<boolean> {
  const { kubeconfig, context } = values;
  const settings = await defaultSettings({
    ...(kubeconfig === undefined ? {} : { files: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  });
  const run = randomBytes(4).toString("hex");
  const folder = mkdtempSync(join(tmpdir(), "binnacle-test-client-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "kubeconfig");
  writeFileSync(path, await kubeconfigOf(settings), { mode: 0o600 });
  await using cluster = await connect({ settings });
  await checkRights(cluster);
  const { gitVersion } = await cluster.call<{ readonly gitVersion: string }>({ method: "GET", path: "/version" });
  const domain = await cluster.domain();
  // The other files need no server.
  const files = findTests(["test/client/*.test.ts"])
    .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
    .filter((file) => /^import [^;]*\b(?:suite|startTestServer)\b/m.test(readFileSync(join(root, file), "utf8")));
  process.stdout.write(`${files.length} test files against ${settings.server.href}, ${gitVersion}, ${domain}\n`);
  Object.assign(process.env, { TEST_KUBECONFIG: path, TEST_DOMAIN: domain, TEST_RUN: run });
  try {
    const tally = await runTests("client", files, 1);
    printFailures(tally.failures);
    printSkips(tally, values.verbose);
    const line = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
    process.stdout.write(`${styleText(tally.failed === 0 ? "green" : "red", line)}\n`);
    return tally.failed === 0;
  } finally {
    await removeObjects(cluster, run);
  }
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${oneLine(error instanceof Error ? error.message : String(error))}\n`);
  process.exitCode = 2;
}
