/** kubectl and the nodes of pods: logs, exec, attach, cp, port-forward and proxy. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createPlainServer } from "node:net";
import { join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import { Api, eventually, startsServers, temporaryFolder } from "../harness.ts";
import { type Cluster, makeNode, makePod, openCluster, podAddress } from "../nodes/cluster.ts";
import { environment, Kubectl } from "./kubectl.ts";
import { findPrograms } from "./programs.ts";

interface Here {
  readonly kubectl: Kubectl;
  readonly cluster: Cluster;
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
}

let shared: Promise<Cluster> | undefined;
after(async () => (await shared)?.close());

const programs = startsServers ? findPrograms() : new Map<string, string>();
if (programs.size === 0) test("kubectl", { skip: "no kubectl on the PATH" }, () => undefined);
for (const [name, program] of programs) {
  describe(name, () => {
    const nodeTest = (title: string, run: (here: Here, t: TestContext) => Promise<void>): void =>
      void test(title, async (t) => {
        shared ??= openCluster("k8s.io");
        const cluster = await shared;
        const api = new Api(cluster.server);
        t.after(() => api.close());
        const { ns } = await api.createNamespace();
        const env = environment(cluster.server);
        const port = { containerPort: cluster.target.port };
        await makePod(api, ns, "p", { containers: [{ name: "c", image: "i", ports: [port] }] }, podAddress);
        await run({ kubectl: new Kubectl(api, ns, program, env), cluster, program, env }, t);
      });

    nodeTest("logs are shown, and followed until the client leaves", async ({ kubectl }) => {
      const { ns, api } = kubectl;
      assert.equal(await kubectl.run(["logs", "p", "--tail=3"]), `/containerLogs/${ns}/p/c\n?tailLines=3\nlast\n`);
      const following = kubectl.start(["logs", "-f", "p"]);
      await following.until(/line 3\n/);
      following.stop();
      const containers = ["a", "b"].map((container) => ({ name: container, image: "i" }));
      await makePod(api, ns, "two", { containers });
      const all = await kubectl.run(["logs", "two", "--all-containers"]);
      // kubectl asks for the containers in random order.
      for (const one of ["a", "b"]) assert.match(all, new RegExp(`/two/${one}\n`));
      await kubectl.fails(["logs", "two", "-c", "none"], /container none is not valid for pod two/);
    });

    for (const isSpdy of [false, true]) {
      const env = isSpdy ? { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" } : {};
      const how = isSpdy ? "SPDY" : "the protocol of its release";
      nodeTest(`commands run by ${how}, with input, output, errors and exit code`, async ({ kubectl, cluster }) => {
        const failing = await kubectl.try(
          ["exec", "p", "--", "sh", "-c", "sleep 0.2; echo out; echo err >&2; exit 3"],
          {
            env,
          },
        );
        assert.deepEqual([failing.code, failing.stdout], [3, "out\n"]);
        assert.match(failing.stderr, /^err\n[^]*exit code 3/);
        assert.equal(await kubectl.run(["exec", "-i", "p", "--", "cat"], { input: "hello", env }), "hello");
        const long = "x".repeat(300_000);
        assert.equal(await kubectl.run(["exec", "-i", "p", "--", "cat"], { input: long, env }), long);
        assert.equal(await kubectl.run(["attach", "-i", "p"], { input: "typed\n", env }).then(lastLine), "typed");
        await kubectl.fails(["exec", "p", "--", "no-such-program"], /no-such-program ENOENT/, { env });
        await eventually(async () => assert.equal(cluster.kubelet.sessions, 0));
      });
    }

    nodeTest("a terminal is one on both sides", async ({ kubectl, cluster, program, env }, t) => {
      if (spawnSync("script", ["--version"]).status !== 0) return t.skip("no script(1) to make a terminal");
      const before = cluster.kubelet.sizes.length;
      const command = `stty rows 30 cols 100; exec ${program} exec -it p --namespace ${kubectl.ns} -- sh -c 'echo hi; sleep 0.5'`;
      const child = spawn("script", ["-qec", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "pipe"] });
      let printed = "";
      child.stdout.on("data", (text: Buffer) => (printed += text.toString()));
      const code = await new Promise((resolve) => child.once("close", resolve));
      assert.equal(code, 0, printed);
      assert.match(printed, /hi/);
      assert.deepEqual(JSON.parse(cluster.kubelet.sizes[before] ?? "{}"), { Width: 100, Height: 30 });
    });

    nodeTest("files are copied in both directions", async ({ kubectl, cluster }) => {
      const folder = temporaryFolder();
      const text = "a line\n".repeat(50_000);
      writeFileSync(join(folder, "here.txt"), text);
      const there = join(cluster.folder, kubectl.ns);
      mkdirSync(there);
      await kubectl.run(["cp", join(folder, "here.txt"), `p:${there}/there.txt`]);
      assert.equal(readFileSync(join(there, "there.txt"), "utf8"), text);
      await kubectl.run(["cp", `p:${there}/there.txt`, join(folder, "back.txt")]);
      assert.equal(readFileSync(join(folder, "back.txt"), "utf8"), text);
    });

    nodeTest("ports are forwarded, several connections at a time", async ({ kubectl, cluster }, t) => {
      const web = createServer((request, response) => response.end(`you asked ${request.url}`));
      web.listen(0, "127.0.0.1");
      await new Promise((resolve) => web.once("listening", resolve));
      t.after(() => web.close());
      const { port } = web.address() as { port: number };
      for (const more of [[], ["--address=127.0.0.1"]]) {
        const forwarding = kubectl.start(["port-forward", "pod/p", `:${port}`, ...more]);
        const [, local] = /127\.0\.0\.1:(\d+) ->/.exec(await forwarding.until(/127\.0\.0\.1:\d+ ->/))!;
        const texts = await Promise.all(
          [1, 2, 3, 4].map(async (at) => (await fetch(`http://127.0.0.1:${local}/${at}`)).text()),
        );
        assert.deepEqual(texts, ["you asked /1", "you asked /2", "you asked /3", "you asked /4"]);
        forwarding.stop();
      }
      await eventually(async () => assert.equal(cluster.kubelet.sessions, 0));
    });

    nodeTest("proxies lead to pods through kubectl's own", async ({ kubectl }) => {
      const proxy = kubectl.start(["proxy", "--port=0"]);
      const [, address] = /Starting to serve on (\S+)/.exec(await proxy.until(/Starting to serve on \S+/))!;
      const answer = await fetch(`http://${address}/api/v1/namespaces/${kubectl.ns}/pods/p/proxy/a?b=c`);
      assert.equal(await answer.text(), "GET /a?b=c ");
      assert.equal(await kubectl.run(["get", "--raw", "/api/v1/nodes/far/proxy/metrics"]), "GET /metrics ");
      proxy.stop();
    });

    nodeTest("a user without the right to a subresource is told so", async ({ kubectl }) => {
      const refused = (verb: string, part: string): RegExp =>
        new RegExp(`pods "p" is forbidden: User "alice" cannot ${verb} resource "pods/${part}" in API group ""`);
      const { api, ns } = kubectl;
      const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}`;
      const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
      (await api.post(`${roles}/roles`, { metadata: { name: "r" }, rules })).expect(201);
      const apiGroup = "rbac.authorization.k8s.io";
      const roleRef = { apiGroup, kind: "Role", name: "r" };
      const subjects = [{ apiGroup, kind: "User", name: "alice" }];
      (await api.post(`${roles}/rolebindings`, { metadata: { name: "b" }, roleRef, subjects })).expect(201);
      const as = "--as=alice";
      await eventually(() => kubectl.run(["get", "pod", "p", as]));
      await kubectl.fails(["logs", "p", as], refused("get", "log"));
      await kubectl.fails(["exec", "p", as, "--", "ls"], refused("(create|get)", "exec"));
      await kubectl.fails(["attach", "p", as], refused("(create|get)", "attach"));
      await kubectl.fails(["port-forward", "p", ":80", as], refused("(create|get)", "portforward"));
      await kubectl.fails(["debug", "p", "--image=i", as], refused("patch", "ephemeralcontainers"));
      await kubectl.fails(
        ["get", "--raw", "/api/v1/nodes/far/proxy/x", as],
        /nodes "far" is forbidden: User "alice" cannot get resource "nodes\/proxy" in API group "" at the cluster scope/,
      );
    });

    nodeTest("a container for debugging is added to a pod, and reached", async ({ kubectl }) => {
      const { ns } = kubectl;
      await kubectl.run(["debug", "p", "--image=i", "-c", "d", "--attach=false"]);
      assert.equal(await kubectl.run(["get", "pod", "p", "-o", "jsonpath={.spec.ephemeralContainers[*].name}"]), "d");
      assert.equal(await kubectl.run(["logs", "p", "-c", "d"]), `/containerLogs/${ns}/p/d\n\nlast\n`);
      assert.equal(await kubectl.run(["exec", "-i", "p", "-c", "d", "--", "cat"], { input: "hello" }), "hello");
      await kubectl.fails(["debug", "p", "--image=i", "-c", "c", "--attach=false"], /Duplicate value|already exists/);
    });

    nodeTest("without a node that answers, kubectl says so", async ({ kubectl }) => {
      const { api, ns } = kubectl;
      const unused = createPlainServer();
      unused.listen(0, "127.0.0.1");
      await new Promise((resolve) => unused.once("listening", resolve));
      const { port } = unused.address() as { port: number };
      await new Promise((resolve) => unused.close(resolve));
      const node = api.unique("down");
      await makeNode(api, node, "127.0.0.1", port);
      await makePod(api, ns, "down", { nodeName: node });
      const refused = new RegExp(`dial tcp 127.0.0.1:${port}: connect: connection refused`);
      await kubectl.fails(["logs", "down"], refused);
      await kubectl.fails(["exec", "down", "--", "ls"], refused);
      await kubectl.fails(["port-forward", "down", ":80"], refused);
      await makePod(api, ns, "waiting", { nodeName: "" });
      await kubectl.fails(["exec", "waiting", "--", "ls"], /pod waiting does not have a host assigned/);
    });
  });
}

/** Returns the last line of a text, without its end. */
const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";
