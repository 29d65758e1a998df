/** Answers in protobuf, which the client library does not ask for. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ConnectionError } from "#client/connection-error.ts";
import { openConnection } from "#client/connection.ts";
import { fixedCredentials } from "#client/credentials.ts";
import { systemClock } from "#std/clock.ts";
import { systemRandom } from "#std/random.ts";

const protobuf = "application/vnd.kubernetes.protobuf";
const prefix = Buffer.from("k8s\0");

test("[MEDIA-12] an answer in protobuf is refused when its prefix is another one, or when it was not asked for", async (t) => {
  let body = Buffer.alloc(0);
  let type = protobuf;
  const server = createServer((_request, response) => response.writeHead(200, { "content-type": type }).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const settings = {
    server: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    tls: { insecure: false },
    credentials: fixedCredentials({}),
    compress: true,
    namespace: "default",
  };
  const options = { clock: systemClock, random: systemRandom, userAgent: "test", environment: {} };
  const connection = openConnection(settings, options);
  t.after(() => connection.close());
  const ask = (accept?: string) =>
    connection.request({ method: "GET", path: "/api/v1/pods", ...(accept === undefined ? {} : { accept }) });
  const refused = (answer: Promise<unknown>, text: RegExp): Promise<void> =>
    assert.rejects(answer, (error: Error) => {
      assert.ok(error instanceof ConnectionError);
      assert.match(error.message, text);
      return true;
    });

  for (const wrong of ["k8s\u0001", "k8", "", "{}", "K8S\0"]) {
    body = Buffer.from(wrong);
    for (const accept of [undefined, protobuf]) {
      await refused(ask(accept), /answered in protobuf, but not in Kubernetes' form: its first four bytes are others/);
    }
  }
  type = `${protobuf};stream=watch`;
  await refused(ask(protobuf), /not in Kubernetes' form/);
  body = Buffer.concat([prefix, Buffer.from([1, 2, 3])]);
  await refused(ask(), /answered in protobuf, which was not asked for/);
  assert.deepEqual((await ask(`${protobuf},application/json`)).body, body);
  type = "application/json";
  body = Buffer.from("{}");
  assert.deepEqual((await ask()).body, body);
});
