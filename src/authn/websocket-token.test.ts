/** Tokens sent as a WebSocket subprotocol. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { readTokenFile } from "./token-file.ts";
import { webSocketToken } from "./websocket-token.ts";

const authenticator = webSocketToken([readTokenFile("secret,alice,1\n", "test")], kubernetesDomain);
const prefix = "base64url.bearer.authorization.k8s.io.";

async function outcomeOf(protocol: string | undefined, upgrade = "websocket"): Promise<string> {
  const answer = await authenticator.authenticate({
    headers: { upgrade, "sec-websocket-protocol": protocol },
    headerValues: () => [],
    path: "/",
    clientCertificate: undefined,
    clientCertificateProblem: "",
    warnings: [],
  });
  return answer.outcome === "user" ? answer.user.name : answer.outcome;
}

test("a token among the subprotocols counts beside another one, in requests for a WebSocket", async () => {
  const encode = (token: string): string => prefix + Buffer.from(token).toString("base64url");
  const good = encode("secret");
  for (const [protocol, expected] of [
    [`${good}, base64.binary.k8s.io`, "alice"],
    [`foo,${good}`, "alice"],
    [good, "refused"],
    [`${good}, ${good}, foo`, "refused"],
    [`${encode("other")}, foo`, "refused"],
    [`${prefix}, foo`, "refused"],
    [`${prefix}!!!, foo`, "refused"],
    [`${prefix}${Buffer.from("secrets").toString("base64")}, foo`, "refused"],
    [`${prefix}_w, foo`, "refused"],
    ["foo", "none"],
    [undefined, "none"],
  ] as const) {
    assert.equal(await outcomeOf(protocol), expected, protocol ?? "none");
  }
  assert.equal(await outcomeOf(`${good}, foo`, "WebSocket"), "alice");
  assert.equal(await outcomeOf(`${good}, foo`, ""), "none");
  assert.equal(await outcomeOf(`${good}, foo`, "SPDY/3.1"), "none");
});
