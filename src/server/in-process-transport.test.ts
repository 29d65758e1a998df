/** What marks requests as the server's own, and that nothing else does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiRequest } from "#http/api-request.ts";
import { inProcessTransport, ownRequests } from "./in-process-transport.ts";

void test("requests of the process itself are known by the way they came, and carry nothing that could be copied", async () => {
  let seen: ApiRequest | undefined;
  const user = { name: "one of ours", groups: ["ours"] };
  const transport = inProcessTransport({
    handle(request) {
      seen = request;
      return { code: 200 };
    },
    user,
    userAgent: "controllers",
    now: () => 0,
  });
  await transport.request({ method: "GET", path: "/api/v1/nodes" });
  assert.ok(seen !== undefined);
  assert.deepEqual(ownRequests.authenticate(seen), { outcome: "user", user });
  assert.deepEqual(Object.keys(seen.headers).sort(), ["accept", "user-agent"]);
  const { headers, path, remoteAddress, clientCertificate } = seen;
  const copy = { headers, path, remoteAddress, clientCertificate, headerValues: () => [] };
  const outside = { ...copy, clientCertificateProblem: "", warnings: [] };
  assert.deepEqual(ownRequests.authenticate(outside), { outcome: "none" });
});
