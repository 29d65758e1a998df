/**
 * Patches and applies with values of the wrong type, and the answers. Expectations are those of kube-apiserver 1.32.1.
 */
import { patchTypes } from "../client.ts";
import { type Api, suite } from "../harness.ts";

const inBothDomains = suite();
const namespaces = new Map<Api["domain"], Promise<string>>();

const container = (fields: object): object => ({
  spec: { template: { spec: { containers: [{ name: "c", ...fields }] } } },
});
const podSpec = (fields: object): object => ({ spec: { template: { spec: fields } } });
const jsonValue = (type: string, wanted: string): string =>
  `json: cannot unmarshal ${type} into Go value of type ${wanted}`;

/** Functions that put a value into a field of a certain type, each with values and their errors. */
const cases: readonly (readonly [make: (value: unknown) => object, errors: readonly (readonly [unknown, string])[]])[] =
  [
    [
      (image) => container({ image }),
      [
        [5, "cannot convert int64 to string"],
        [1.5, "unrecognized type: string"],
        [true, "unrecognized type: string"],
        [["x"], "unrecognized type: string"],
        [{ a: 5 }, "unrecognized type: string"],
      ],
    ],
    [(imagePullPolicy) => container({ imagePullPolicy }), [[5, "cannot convert int64 to v1.PullPolicy"]]],
    [
      (replicas) => ({ spec: { replicas } }),
      [
        ["1", "unrecognized type: int32"],
        [1.5, "cannot convert float64 to int32"],
        [true, "unrecognized type: int32"],
        [[], "unrecognized type: int32"],
      ],
    ],
    [
      (terminationGracePeriodSeconds) => podSpec({ terminationGracePeriodSeconds }),
      [
        ["x", "unrecognized type: int64"],
        [1.5, "cannot convert float64 to int64"],
      ],
    ],
    [
      (paused) => ({ spec: { paused } }),
      [
        [1, "unrecognized type: bool"],
        ["true", "unrecognized type: bool"],
      ],
    ],
    [
      (cpu) => container({ resources: { limits: { cpu } } }),
      [[[], "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"]],
    ],
    [
      (maxSurge) => ({ spec: { strategy: { rollingUpdate: { maxSurge } } } }),
      [
        [true, jsonValue("bool", "int32")],
        [1.5, jsonValue("number 1.5", "int32")],
        [{}, jsonValue("object", "int32")],
      ],
    ],
    [
      (creationTimestamp) => ({ metadata: { creationTimestamp } }),
      [
        [5, jsonValue("number", "string")],
        ["x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
      ],
    ],
    [
      (annotations) => ({ metadata: { annotations } }),
      [
        [5, "cannot restore map from int64"],
        ["x", "cannot restore map from string"],
        [["x"], "cannot restore map from slice"],
        [{ a: true }, "unrecognized type: string"],
      ],
    ],
    [
      (args) => container({ args }),
      [
        ["x", "cannot restore slice from string"],
        [{ a: 5 }, "cannot restore slice from map"],
        [[5], "cannot convert int64 to string"],
      ],
    ],
    [
      (template) => ({ spec: { template } }),
      [
        [[], "cannot restore struct from: slice"],
        ["x", "cannot restore struct from: string"],
        [5, "cannot restore struct from: int64"],
      ],
    ],
    [(tolerations) => podSpec({ tolerations }), [[["x"], "cannot restore struct from: string"]]],
  ];

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  spec: {
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
};

/** Returns the path of the deployment that is patched, which is created once in a domain. */
function deploymentPath(api: Api): Promise<string> {
  let path = namespaces.get(api.domain);
  if (path === undefined) {
    path = makeDeployment(api);
    namespaces.set(api.domain, path);
  }
  return path;
}

async function makeDeployment(api: Api): Promise<string> {
  const { ns } = await api.createNamespace();
  const path = `/apis/apps/v1/namespaces/${ns}/deployments`;
  (await api.post(path, deployment)).expect(201);
  return `${path}/d`;
}

/** Returns a value as Go prints it. */
function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${members.map(([name, member]) => `${name}:${goText(member)}`).join(" ")}]`;
}

inBothDomains(
  "a strategic patch with a value of the wrong type is shown, with the types that do not fit",
  async (api) => {
    const path = await deploymentPath(api);
    for (const [make, errors] of cases) {
      for (const [value, error] of errors) {
        const patch = make(value);
        const message = ` "" is invalid: patch: Invalid value: ${JSON.stringify(goText(patch))}: ${error}`;
        (await api.patch(path, patch, patchTypes.strategic)).expectFailure(422, "Invalid", message);
      }
    }
  },
);

inBothDomains("an apply of such a value that has passed as a scalar says the same", async (api) => {
  const path = await deploymentPath(api);
  const type = "apps/v1, Kind=Deployment";
  const cannot = `failed to convert new object (/d; ${type}) to proper version: unable to convert unstructured object to ${type}`;
  for (const [patch, error] of [
    [{ spec: { replicas: 1.5 } }, "cannot convert float64 to int32"],
    [{ spec: { strategy: { rollingUpdate: { maxSurge: true } } } }, jsonValue("bool", "int32")],
    [{ metadata: { creationTimestamp: 5 } }, jsonValue("number", "string")],
  ] as const) {
    const body = { ...deployment, ...patch, metadata: { name: "d", ...("metadata" in patch ? patch.metadata : {}) } };
    const answer = await api.patch(`${path}?fieldManager=m&force=true`, body, patchTypes.apply);
    answer.expect([400, 500], { message: `${cannot}: ${error}` });
  }
});

inBothDomains("the object in the error of a merge patch is sorted where the patch changed it", async (api) => {
  const path = await deploymentPath(api);
  const patch = { metadata: { labels: { z: "1", a: 5 } } };
  const answer = (await api.patch(path, patch, patchTypes.merge)).expectFailure(
    422,
    "Invalid",
    /labels of type string$/,
  );
  const { message } = answer.value as { readonly message: string };
  const value = JSON.parse(
    /^ "" is invalid: patch: Invalid value: (".*"): json: /s.exec(message)?.[1] ?? '""',
  ) as string;
  const { metadata, spec } = JSON.parse(value) as Record<string, Record<string, object>>;
  const isSorted = (names: readonly string[]): boolean => names.join() === [...names].sort().join();
  for (const [object, sorted] of [
    [metadata, true],
    [metadata?.["labels"], true],
    [spec, false],
  ] as const) {
    if (isSorted(Object.keys(object ?? {})) !== sorted) throw new Error(`${JSON.stringify(object)}: sorted ${sorted}`);
  }
});
