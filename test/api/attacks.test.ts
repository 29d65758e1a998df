/** Attacks on access as earlier servers suffered them, tried from outside. SECURITY.md lists which class is shown where. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "#std/random.ts";
import { Api, domains, gated, openServer } from "../harness.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts servers of its own";

for (const domain of domains) {
  test(`${domain}: nothing the server makes up for itself lets anybody in from outside`, { skip }, async () => {
    const drawn: Buffer[] = [];
    const random = {
      ...systemRandom,
      bytes(count: number): Buffer {
        const bytes = systemRandom.bytes(count);
        drawn.push(bytes);
        return bytes;
      },
    };
    const server = await openServer(domain, gated, { random });
    const api = new Api(server);
    try {
      const words = drawn.flatMap((bytes) => [bytes.toString("base64url"), bytes.toString("hex")]);
      const good: string[] = [];
      for (const word of words) {
        const answer = await api.get("/api/v1/nodes", { as: word, headers: { "user-agent": "binnacle-controllers" } });
        if (answer.status === 200) good.push(word);
        else answer.refused(401, "Unauthorized");
      }
      // The administrator's, which lies in the data folder for the owner; so the words tried are the right ones.
      assert.equal(good.length, 1);
      const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
      const self = await api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review, { as: good[0]! });
      self.expect(201, { "status.userInfo.username": "admin" });
    } finally {
      api.close();
      await server.close();
    }
  });
}
