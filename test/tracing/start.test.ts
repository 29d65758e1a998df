/** `--tracing-config-file` at the start of the program: what it needs, what is refused, and several processes. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { startServer } from "#server/start-server.ts";
import { eventually, file, temporaryFolder } from "../harness.ts";
import { ServedProcesses, unsuitable } from "../processes/served-processes.ts";
import { runProgram } from "../program/program.ts";
import { Collector, tracingFile } from "./collector.ts";

const refuses = (settings: ServerSettings, message: RegExp): Promise<void> =>
  assert.rejects(startServer({ apiDomain: "k8s.io", storage: "memory", securePort: 0, ...settings }), {
    name: "StartError",
    message,
  });

test("a server does not start with a file that it cannot use", async () => {
  await refuses({ tracingConfigFile: "/nowhere/tracing.yaml" }, /cannot read \/nowhere\/tracing\.yaml: no such file/);
  const wrong = tracingFile("localhost:4317", -1);
  await refuses({ tracingConfigFile: wrong }, /tracing\.yaml: samplingRatePerMillion: Invalid value: -1: /);
  await refuses(
    { tracingConfigFile: tracingFile("localhost:4317", 1), featureGates: ["APIServerTracing=false"] },
    /^APIServerTracing feature is not enabled, but tracing config file was provided$/,
  );
  const selections = {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [
      {
        name: "controlplane",
        connection: { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: "/nowhere/proxy.sock" } } },
      },
    ],
  };
  const egressSelectorConfigFile = file("egress.yaml", JSON.stringify(selections));
  await refuses(
    { tracingConfigFile: tracingFile("localhost:4317", 1), egressSelectorConfigFile },
    /a proxy for the selection "controlplane" is not supported for traces/,
  );
});

test("without the packages the program says what to install, and starts only without the flag", async () => {
  const hide = `import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      if (name.startsWith("@opentelemetry/")) throw new Error("Cannot find package '" + name + "'");
      return next(name, context);
    } });`;
  const variables = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hide)}` };
  const folder = temporaryFolder();
  const flags = [
    "serve",
    "--storage=memory",
    "--api-domain=k8s.io",
    "--secure-port=0",
    `--tracing-config-file=${tracingFile("", 1)}`,
  ];
  const { code, stderr } = await runProgram(flags, folder, variables);
  assert.equal(code, 1);
  assert.match(stderr, /npm install @opentelemetry\/api @opentelemetry\/resources @opentelemetry\/sdk-trace @open/);
  assert.match(stderr, /the single executable cannot load them/);
  assert.equal((await runProgram(["serve", "--help"], folder, variables)).code, 0);
});

describe("several processes", { skip: unsuitable ?? false }, () => {
  test("each sends the spans of the requests that it answers", async (t) => {
    const collector = await Collector.open();
    t.after(() => collector.close());
    const flags = [`--tracing-config-file=${tracingFile(collector.endpoint, 1_000_000)}`];
    const served = await ServedProcesses.start(t, { count: 2, flags });
    const pids = served.pids();
    const apis = await served.connectToAll();
    for (const [index, api] of apis.entries()) {
      const user = { headers: { "user-agent": `client-${index}` } };
      const map = { metadata: { name: `of-${index}` } };
      (await api.post("/api/v1/namespaces/default/configmaps", map, user)).expect(201);
    }
    served.supervisor.kill("SIGTERM");
    assert.equal(await served.exited, 0, served.logged.slice(-5).join("\n"));
    await eventually(() => {
      for (const index of [0, 1]) {
        const roots = collector.spans.filter((one) => one.attributes["user_agent.original"] === `client-${index}`);
        assert.equal(roots.length, 1);
        assert.equal(roots[0]!.resource["process.pid"], pids.get(index));
        const commits = collector.named("Commit").filter(({ traceId }) => traceId === roots[0]!.traceId);
        assert.equal(commits.length, 1);
      }
      return Promise.resolve();
    });
  });
});
