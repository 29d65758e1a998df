/** Token Secrets as they and their accounts come and go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "../fake-cluster.ts";
import { serviceAccountTokensController } from "./tokens.ts";

const home = "/api/v1/namespaces/shop";
const type = "kubernetes.io/service-account-token";

async function openApi() {
  const api = new FakeCluster(new FakeClock());
  const put = (name: string, account = "robot"): void => {
    api.put(`${home}/secrets/${name}`, {
      type,
      metadata: { annotations: { "kubernetes.io/service-account.name": account } },
    });
  };
  const token = (name: string): string | undefined => {
    const data = api.get(`${home}/secrets/${name}`)?.["data"] as { token?: string } | undefined;
    return data?.token === undefined ? undefined : Buffer.from(data.token, "base64").toString();
  };
  let signed = 0;
  const sign = (): Promise<string> => Promise.resolve(`token ${++signed}`);
  api.put(`${home}/serviceaccounts/robot`);
  void serviceAccountTokensController({ sign, rootCertificates: "PEM" })(api.environment);
  await api.settled();
  return { api, put, token };
}

test("a Secret that goes and comes again at once gets a token of its own", async () => {
  const { api, put, token } = await openApi();
  put("a");
  await api.settled();
  assert.equal(token("a"), "token 1");
  // The request comes while the first Secret is still being removed from the account.
  api.fails = (request) => {
    api.fails = () => 0;
    if (request === `GET ${home}/secrets/a`) setImmediate(() => put("a"));
    return 0;
  };
  api.remove(`${home}/secrets/a`);
  await api.settled();
  assert.equal(token("a"), "token 2");
  api.stop();
});

test("an account that comes or goes is a matter of its own Secrets only", async () => {
  const { api, put } = await openApi();
  for (let number = 0; number < 20; number++) put(`of-robot-${number}`);
  await api.settled();
  const before = api.requests.length;
  for (let number = 0; number < 20; number++) api.put(`${home}/serviceaccounts/other-${number}`);
  await api.settled();
  assert.equal(api.requests.length, before);
  api.remove(`${home}/serviceaccounts/robot`);
  await api.settled();
  assert.equal(api.get(`${home}/secrets/of-robot-19`), undefined);
  api.stop();
});

test("a Secret of something that can be no account is removed, whatever its path would name", async () => {
  const { api, put } = await openApi();
  put("odd", "robot/token");
  put("up", "../secrets/a");
  await api.settled();
  for (const name of ["odd", "up"]) assert.equal(api.get(`${home}/secrets/${name}`), undefined, name);
  assert.deepEqual(
    api.requests.filter((request) => request.includes("%2F")),
    [],
  );
  assert.deepEqual(api.logged, []);
  api.stop();
});
