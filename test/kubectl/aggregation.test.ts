/** An aggregated API in released kubectl programs. */
import assert from "node:assert/strict";
import { after } from "node:test";
import { AggregatedServer, group, register } from "../aggregation/aggregated-server.ts";
import type { Api } from "../harness.ts";
import { type Kubectl, kubectlSuite } from "./kubectl.ts";

let server: Promise<AggregatedServer> | undefined;
after(async () => (await server)?.stop());

/** Returns the aggregated server, which all programs share. */
function backend(api: Api): Promise<AggregatedServer> {
  server ??= AggregatedServer.start(api, "wardle").then(async (started) => {
    await register(api, "wardle", started);
    return started;
  });
  return server;
}

const manifest = (name: string): string =>
  `{"apiVersion":"${group}/v1","kind":"Flunder","metadata":{"name":"${name}"}}`;

kubectlSuite((test) => {
  test("an aggregated API is discovered, explained, written, listed and watched", async (kubectl: Kubectl) => {
    const { api } = kubectl;
    await backend(api);
    assert.match(await kubectl.run(["get", "apiservices", `v1.${group}`]), /\n\S+ +wardle\/api +True +/);
    assert.match(await kubectl.run(["api-versions"]), new RegExp(`^${group}/v1$`, "m"));
    assert.match(await kubectl.run(["api-resources", "--api-group", group]), /\nflunders +fl +\S+ +true +Flunder/);
    assert.match(await kubectl.run(["explain", "flunders"]), /A flunder of another server\./);
    const watching = kubectl.start(["get", "flunders", "--watch", "--output=name"]);
    try {
      const created = await kubectl.run(["create", "--validate=false", "-f", kubectl.file(manifest("one"))]);
      assert.equal(created, `flunder.${group}/one created\n`);
      await watching.until(/one/);
    } finally {
      watching.stop();
    }
    assert.equal(await kubectl.run(["get", "flunders", "-o", "name"]), `flunder.${group}/one\n`);
    await kubectl.run(["delete", "flunder", "one", "--wait=false"]);
    assert.equal(await kubectl.run(["get", "flunders", "-o", "name"]), "");
  });
});
