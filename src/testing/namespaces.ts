/** The parts that integrations of test runners share: a namespace for each test, and the report of a failed one. */
import { randomUUID } from "node:crypto";
import type { TestServer } from "./test-server.ts";

/** Creates a namespace with a new name, and waits until it has its service account. Resolves with the name. */
export async function createTestNamespace(server: TestServer): Promise<string> {
  const name = `test-${randomUUID().slice(0, 8)}`;
  const answer = await server.fetch("/api/v1/namespaces", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } }),
  });
  if (!answer.ok) throw new Error(`the namespace of the test could not be created: ${await answer.text()}`);
  await answer.body?.cancel();
  await server.settled();
  return name;
}

/** The number of requests that a report shows. */
const shownRequests = 20;

/** Returns the latest requests and log lines, for the output of a failed test. */
export function failureReport(server: TestServer): string {
  const requests = server
    .requests()
    .slice(-shownRequests)
    .map(({ method, path, code, userAgent }) => `  ${method} ${path} ${code === 0 ? "no answer" : code}  ${userAgent}`);
  const lines = server.logs().map((line) => `  ${line}`);
  return `latest requests to the test server:\n${requests.join("\n")}\nits log:\n${lines.join("\n")}\n`;
}
