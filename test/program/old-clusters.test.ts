/** Explanations on clusters of early versions, and on those that lack what they use: they say what cannot be known there. */
import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fakeAuthority, type FakeAuthority } from "#authn/fake-authority.ts";
import { temporaryFolder } from "../harness.ts";
import { type Ended, runProgram, type Serving, serveProgram } from "./program.ts";

/** A cluster as the proxy pretends it to be. */
interface Pretended {
  readonly version: string;
  /** The paths that it does not have. */
  readonly lacks: RegExp;
  /** Changes the text of an answer. */
  change(path: string, text: string): string;
}

/** Returns the text of an object or a list without the managers of fields. */
const withoutManagers = (text: string): string =>
  JSON.stringify(JSON.parse(text, (name, value: unknown) => (name === "managedFields" ? undefined : value)));

const history = "^/binnacle/";

void describe("old clusters", () => {
  let folder: string;
  let serving: Serving;
  let authority: FakeAuthority;

  before(async () => {
    folder = temporaryFolder();
    authority = await fakeAuthority();
    serving = await serveProgram(folder, "--data-dir=data", "--api-domain=k8s.io", "--storage=memory");
    const objects = [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { team: "a" } } },
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "settings", namespace: "shop" },
        data: { mode: "fast" },
      },
    ];
    writeFileSync(join(folder, "objects.json"), objects.map((one) => JSON.stringify(one)).join("\n"));
    const { code, stderr } = await runProgram(["apply", "-f", "objects.json", "--data-dir=data"], folder);
    assert.equal(code, 0, stderr);
  });
  after(async () => {
    serving.child.kill();
    await serving.ended;
  });

  /** Puts a proxy before the server that makes another cluster of it, and runs commands against that. */
  async function withCluster(
    pretended: Pretended,
    work: (run: (line: string) => Promise<Ended>) => Promise<void>,
  ): Promise<void> {
    const ca = readFileSync(join(folder, "data/pki/ca.crt"));
    const agent = new https.Agent({ ca });
    const { certificate: cert, key } = await authority.issue({ usage: "server" });
    const proxy = https.createServer({ cert, key }, (request, response) => {
      const path = request.url ?? "/";
      const body: Buffer[] = [];
      request.on("data", (piece: Buffer) => body.push(piece));
      request.on("end", () => {
        if (pretended.lacks.test(path)) {
          response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found");
          return;
        }
        const { "accept-encoding": _, host: _host, ...headers } = request.headers;
        const options = { method: request.method, headers, agent };
        const passed = https.request(new URL(path, serving.url), options, (answer) => {
          const pieces: Buffer[] = [];
          answer.on("data", (piece: Buffer) => pieces.push(piece));
          answer.on("end", () => {
            const { "content-length": _length, "transfer-encoding": _encoding, ...own } = answer.headers;
            const text = Buffer.concat(pieces).toString();
            const shown = path === "/version" ? pretended.version : pretended.change(path, text);
            response.writeHead(answer.statusCode!, own).end(shown);
          });
        });
        passed.end(Buffer.concat(body));
      });
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo; // it listens on a port
    writeFileSync(join(folder, "proxy-ca.crt"), authority.certificate);
    const token = readFileSync(join(folder, "data/pki/admin.token"), "utf8").trim();
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      clusters: [
        {
          name: "c",
          cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority": join(folder, "proxy-ca.crt") },
        },
      ],
      users: [{ name: "u", user: { token } }],
    };
    writeFileSync(join(folder, "old.json"), JSON.stringify(config));
    try {
      await work((line) => runProgram([...line.split(" "), "--kubeconfig=old.json"], folder));
    } finally {
      agent.destroy();
      proxy.closeAllConnections();
      proxy.close();
    }
  }

  void test("on a server before 1.25 each explanation says what it lacks, and explains the rest", async () => {
    const pretended = {
      version: JSON.stringify({ major: "1", minor: "17+", gitVersion: "v1.17.4-cloud" }),
      lacks: new RegExp(`${history}|/selfsubjectreviews|^/livez|^/metrics`),
      change: (path: string, text: string) => (path.includes("/configmaps") ? withoutManagers(text) : text),
    };
    await withCluster(pretended, async (run) => {
      const own = await run("why list pods -n shop");
      assert.equal(own.code, 0, own.stderr);
      assert.match(own.stdout, /^You may list pods in namespace shop\.$/m);
      assert.match(
        own.stdout,
        /Not known: the server is Kubernetes 1\.17, and explanations are made for 1\.25 and later/,
      );
      assert.match(own.stdout, /Not known: which rule decides is not known, since the server does not say who you are/);
      const named = await run("why list pods -n shop --as=alice");
      assert.equal(named.code, 1, named.stderr);
      assert.match(named.stdout, /^"alice" may not list pods .*\n {2}\d bindings? of the cluster/);

      const who = await run("who can list pods -n shop -o json");
      assert.equal(who.code, 0, who.stderr);
      assert.match((JSON.parse(who.stdout) as { readonly unknown: readonly string[] }).unknown[0]!, /1\.17/);

      const blame = await run("blame ns shop");
      assert.equal(blame.code, 0, blame.stderr);
      assert.match(blame.stderr, /1\.17.*it does not tell whether a manager writes through a subresource/);
      assert.match(blame.stderr, /keeps no history: who wrote these fields before/);
      const nobody = await run("blame cm settings -n shop");
      assert.equal(nobody.code, 1);
      assert.match(nobody.stderr, /^binnacle: the server keeps no managers of this object, as before 1\.18/m);

      const tree = await run("tree ns shop -o json");
      assert.equal(tree.code, 0, tree.stderr);
      assert.match(
        (JSON.parse(tree.stdout) as { readonly unread: readonly string[] }).unread[0]!,
        /who set a finalizer$/,
      );

      const changes = await run("changes -n shop -o json");
      assert.equal(changes.code, 0, changes.stderr);
      const { unknown } = JSON.parse(changes.stdout) as { readonly unknown: readonly string[] };
      assert.match(unknown.join("\n"), /keeps no history: deletions.*\n.*1\.17.* does not tell who changed an object/);

      for (const line of ["history cm settings -n shop", "undelete cm settings -n shop"]) {
        const { code, stderr } = await run(line);
        assert.equal(code, 1);
        assert.match(
          stderr,
          /^binnacle: \w+ needs the history of a Binnacle server, which this server does not have: .+$/m,
        );
      }

      const doctor = await run("doctor");
      assert.match(
        doctor.stdout,
        /^Not looked at: the server is Kubernetes 1\.17,.* does not tell requests that went on without a webhook$/m,
      );
      assert.match(doctor.stdout, /^Not looked at: metrics: /m);
    });
  });

  void test("a server without roles decides all the same, and explanations say that they cannot see why", async () => {
    const pretended = {
      version: JSON.stringify({ major: "1", minor: "32" }),
      lacks: new RegExp(`${history}|^/apis/rbac|^/readyz`),
      change: (path: string, text: string) => {
        if (path !== "/apis") return text;
        const list = JSON.parse(text) as { readonly groups: readonly { readonly name: string }[] };
        return JSON.stringify({ ...list, groups: list.groups.filter(({ name }) => !name.startsWith("rbac.")) });
      },
    };
    await withCluster(pretended, async (run) => {
      const why = await run("why list pods -n shop --as=alice -o json");
      assert.equal(why.code, 1, why.stderr);
      const { allowed, unknown } = JSON.parse(why.stdout) as {
        readonly allowed: boolean;
        readonly unknown: readonly string[];
      };
      assert.equal(allowed, false);
      assert.match(unknown.join(), /^this server has no roles and bindings \(RBAC\)/);
      const who = await run("who can list pods -n shop");
      assert.equal(who.code, 1);
      assert.match(who.stderr, /^binnacle: this server has no roles and bindings \(RBAC\)/m);
      const doctor = await run("doctor");
      assert.equal(doctor.code, 0, doctor.stdout);
      assert.match(doctor.stdout, /^Not looked at: bindings to roles that do not exist: this server has no roles/m);
      assert.doesNotMatch(doctor.stdout, /It is not ready|made for 1\.25/);
    });
  });
});
