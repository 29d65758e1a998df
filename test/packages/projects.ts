/** Projects as their users have them, each with a small test that uses the packed package. */

export interface Project {
  readonly name: string;
  /** The packages that the project installs besides this one. */
  readonly needs: readonly string[];
  /** The fields of its `package.json`. */
  readonly manifest?: object;
  /** Its files by path. */
  readonly files: Readonly<Record<string, string>>;
  /** The arguments of Node for each of its runs. */
  readonly runs: readonly (readonly string[])[];
  /** A run that must fail, and the texts that its output must have. */
  readonly failing?: { readonly run: readonly string[]; readonly shows: readonly RegExp[] };
}

/** Returns the text of an import, which the checks of this repository must not take for one of its own. */
const imported = (names: string, from: string): string => `import ${names} from "${from}";`;

/** The modules that the test of all projects needs, beside the test kit, with what it uses of them. */
const modules = [
  ["binnacle/client", "{ ApiError }"],
  ["binnacle/client/controllers", "{ controller, run }"],
  ["binnacle/client/kinds", "{ ConfigMap, Secret }"],
] as const;
const imports = modules.map(([from, names]) => imported(names, from)).join("\n");
const requires = modules.map(([from, names]) => `const ${names} = require("${from}");`).join("\n");

/**
 * The body of the test that all projects run: a write, a fault, and the way back; then a controller that makes a secret
 * for each config map, and an error of the client library.
 */
const body = `
  const path = "/api/v1/namespaces/default/configmaps";
  const create = () => server.fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ metadata: { name: "one" } }),
  });
  const codes = [(await create()).status];
  server.faults.next({ verb: "get", resource: "configmaps" }, { answer: 429 });
  codes.push((await server.fetch(path + "/one")).status);
  codes.push((await server.fetch(path + "/one")).status);
  await server.reset();
  codes.push((await server.fetch(path + "/one")).status);

  const cluster = await server.client("harbour");
  const stop = new AbortController();
  const secrets = controller(ConfigMap, {
    in: "default",
    owns: [Secret],
    async reconcile(map, { apply }) {
      await apply(Secret, { metadata: { name: map.metadata.name }, data: { key: map.data?.["key"] ?? "" } });
    },
  });
  const running = run(cluster, { signal: stop.signal }, [secrets]);
  await cluster.kind(ConfigMap).create({ metadata: { name: "ketch" }, data: { key: "Zmxvb2Q=" } });
  const made = await cluster.kind(Secret).until("ketch", (secret) => secret?.data?.["key"] === "Zmxvb2Q=", { timeout: "60s" });
  const owner = made?.metadata.ownerReferences?.[0]?.kind;
  stop.abort();
  await running;
  const isApiError = await cluster.kind(Secret).get("none").catch((error) => error instanceof ApiError);
  await server.reset();
  const answers = [...codes, owner, isApiError].join(" ");
`;
const expected = "201 429 200 404 ConfigMap true";
const check = `
  if (answers !== "${expected}") throw new Error("the answers were " + answers);
`;

const plain = `
async function main() {
  const server = await startTestServer();
  ${body}
  ${check}
  await server.close();
  console.log("passed");
}
main();
`;

const jestTest = `
const { useServer } = require("binnacle/testing/jest");
const { startTestServer } = require("binnacle/testing");
${requires}

const kube = useServer();

test("the worker has a server, and the test a namespace", async () => {
  const { server, namespace } = kube;
  expect((await server.fetch("/api/v1/namespaces/" + namespace)).status).toBe(200);
  const answer = await server.fetch("/api/v1/namespaces/" + namespace + "/serviceaccounts");
  expect((await answer.json()).items.map((one) => one.metadata.name)).toEqual(["default"]);
});

test("a server of its own", async () => {
  const server = await startTestServer();
  ${body}
  expect(answers).toBe("${expected}");
  await server.close();
});
`;

const vitestTest = `
${imported("{ expect, test as base }", "vitest")}
${imported("{ serverFixtures }", "binnacle/testing/vitest")}
${imports}

const test = base.extend(serverFixtures());

test("the worker has a server, and the test a namespace", async ({ server, namespace }) => {
  expect((await server.fetch("/api/v1/namespaces/" + namespace)).status).toBe(200);
  ${body}
  expect(answers).toBe("${expected}");
});
`;

export const projects: readonly Project[] = [
  {
    name: "esm",
    needs: [],
    manifest: { type: "module" },
    files: { "main.js": `${imported("{ startTestServer }", "binnacle/testing")}\n${imports}\n${plain}` },
    runs: [["main.js"]],
  },
  {
    name: "commonjs",
    needs: [],
    files: { "main.js": `const { startTestServer } = require("binnacle/testing");\n${requires}\n${plain}` },
    runs: [["main.js"]],
  },
  {
    name: "typescript",
    needs: ["typescript", "@types/node"],
    manifest: { type: "module" },
    files: {
      "tsconfig.json": JSON.stringify({
        compilerOptions: {
          module: "nodenext",
          target: "es2024",
          lib: ["es2024", "esnext.disposable"],
          strict: true,
          types: ["node"],
        },
      }),
      "main.ts": `${imported("{ startTestServer, type TestServer }", "binnacle/testing")}
${imports}
const answersOf = async (server: TestServer): Promise<string> => {${body} return answers; };
async function main(): Promise<void> {
  await using server = await startTestServer({ settings: { authorizationMode: ["RBAC"] } });
  const answers = await answersOf(server);
  ${check}
  console.log("passed");
}
void main();
`,
      "common.cts": `${imported("{ startTestServer }", "binnacle/testing")}
${imports}
async function main(): Promise<void> {
  const server = await startTestServer();
  ${body}
  ${check}
  await server.close();
  console.log("passed");
}
void main();
`,
    },
    runs: [["node_modules/typescript/bin/tsc", "-p", "."], ["main.js"], ["common.cjs"]],
  },
  {
    name: "node-test",
    needs: [],
    manifest: { type: "module" },
    files: {
      "main.test.js": `${imported("assert", "node:assert")}
${imported("{ test }", "node:test")}
${imported("{ startTestServer }", "binnacle/testing")}
${imports}
test("a server", async () => {
  await using server = await startTestServer();
  ${body}
  assert.equal(answers, "${expected}");
});
`,
    },
    runs: [["--test"]],
  },
  {
    name: "vitest",
    needs: ["vitest", "typescript", "@types/node"],
    manifest: { type: "module" },
    files: {
      "tsconfig.json": JSON.stringify({
        compilerOptions: { module: "nodenext", target: "es2024", strict: true, skipLibCheck: true, noEmit: true },
        include: ["main.test.ts"],
      }),
      "main.test.ts": vitestTest,
      "failing.test.ts": `${imported("{ expect, test as base }", "vitest")}
${imported("{ serverFixtures }", "binnacle/testing/vitest")}
const test = base.extend(serverFixtures());
test("fails", async ({ server, namespace }) => {
  await server.fetch("/api/v1/namespaces/" + namespace + "/secrets");
  expect(1).toBe(2);
});
`,
    },
    runs: [
      ["node_modules/typescript/bin/tsc", "-p", "."],
      ["node_modules/vitest/vitest.mjs", "run", "main"],
    ],
    failing: {
      run: ["node_modules/vitest/vitest.mjs", "run", "failing"],
      shows: [/latest requests to the test server/, /GET \/api\/v1\/namespaces\/test-\w+\/secrets 200/],
    },
  },
  {
    name: "jest",
    needs: ["jest"],
    files: {
      "one.test.js": jestTest,
      "two.test.js": jestTest,
      "failing.check.js": `const { useServer } = require("binnacle/testing/jest");
const kube = useServer();
test("fails", async () => {
  await kube.server.fetch("/api/v1/namespaces/" + kube.namespace + "/secrets");
  expect(1).toBe(2);
});
`,
    },
    runs: [["node_modules/jest/bin/jest.js"], ["node_modules/jest/bin/jest.js", "--runInBand"]],
    failing: {
      run: ["node_modules/jest/bin/jest.js", "--testMatch=**/failing.check.js"],
      shows: [/latest requests to the test server/, /GET \/api\/v1\/namespaces\/test-\w+\/secrets 200/],
    },
  },
];

/** The sentence of an old Node instead of an error about missing parts. */
export const oldNode = {
  files: {
    "main.mjs": `${imported("{ startTestServer }", "binnacle/testing")}
startTestServer().catch((error) => console.log(error.message));
`,
    "main.cjs": `try { require("binnacle/testing"); } catch (error) { console.log(error.message); }
`,
  },
  says: /^binnacle\/testing needs Node\.js 24\.15 or newer, and this is 20\.\d+\.\d+\n$/,
};
