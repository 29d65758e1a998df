/** Messages of failed connections for which tests cannot make the failure. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connectingError, requestError } from "./problem.ts";

const peer = { address: "https://api.example:6443", kind: "server", name: "api.example" } as const;
const failure = (code: string, message = "text"): Error => Object.assign(new Error(message), { code });

test("connections that cannot be opened", () => {
  const cases: readonly [string, RegExp][] = [
    [
      "ENOTFOUND",
      /^https:\S+ cannot be reached: the name api\.example is not known \(ENOTFOUND\): check the name and the network$/,
    ],
    ["EHOSTUNREACH", /^there is no way to https:\S+ \(EHOSTUNREACH\): check the network$/],
    ["ETIMEDOUT", /^https:\S+ does not answer \(ETIMEDOUT\): check/],
    [
      "CERT_HAS_EXPIRED",
      /^the certificate of https:\S+ has expired or is not valid yet \(CERT_HAS_EXPIRED\): check it and the clock$/,
    ],
    ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", /it refused the client certificate \(ERR_SSL_TLSV1_ALERT_UNKNOWN_CA\)$/],
    ["EOTHER", /^https:\S+ cannot be reached: text and more$/],
  ];
  for (const [code, message] of cases) {
    const error = connectingError(failure(code, "text\nand more"), peer);
    assert.match(error.message, message);
    assert.deepEqual([error.code, error.sent, error.temporary], [code, false, false]);
  }
  const both = new AggregateError([failure("ECONNREFUSED"), failure("ENETUNREACH")]);
  assert.equal(connectingError(both, peer).code, "ECONNREFUSED");
});

test("requests without an answer say whether they may have been carried out", () => {
  const asked = { address: peer.address, sent: true, reads: false, answered: false };
  const lost = requestError(failure("ECONNRESET"), asked);
  assert.ok(lost.sent && lost.temporary);
  assert.match(lost.message, /it is not known whether the request was carried out$/);
  const refused = requestError(Object.assign(failure("UND_ERR_SOCKET"), { http2ErrorCode: 7 }), asked);
  assert.ok(!refused.sent && refused.temporary);
  const parser = requestError(failure("HPE_INVALID_CONSTANT"), { ...asked, reads: true });
  assert.match(parser.message, /did not answer: it does not speak HTTP here$/);
  assert.ok(!parser.temporary);
  const alert = requestError(failure("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"), asked);
  assert.match(alert.message, /it refused the client certificate/);
  assert.ok(!alert.temporary);
});
