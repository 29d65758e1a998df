/** A server whose audit log says what its controllers ask. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Api, file, openServer, temporaryFolder } from "../harness.ts";

interface AuditedRequest {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string; readonly name?: string; readonly subresource?: string };
}

/** Opens a server with all controllers. `requests` returns what its controllers have asked, each with its line in the log. */
export async function openAudited(t: TestContext, level: "Metadata" | "RequestResponse") {
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived", "ResponseStarted"],
    rules: [{ level }],
  };
  const auditLogPath = join(temporaryFolder(), "audit.log");
  const auditPolicyFile = file("policy.json", JSON.stringify(policy));
  const server = await openServer("k8s.io", { auditPolicyFile, auditLogPath, controllers: ["*"] });
  t.after(() => server.close());
  const requests = (): { readonly line: string; readonly request: AuditedRequest }[] =>
    readFileSync(auditLogPath, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => ({ line, request: JSON.parse(line) as AuditedRequest }))
      .filter(({ request }) => request.user.username?.startsWith("system:serviceaccount:kube-system:") === true);
  return { api: new Api(server), requests };
}
