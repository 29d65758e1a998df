/** Helm, if installed, on simulated workloads: charts of five common shapes are installed and waited for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { definition } from "../crds.ts";
import { Api, openServer } from "../harness.ts";
import { helmIn, skip, writeChart } from "./helm.ts";

/** Returns a template of pods, as text. */
const pods = (app: string, spec: string): string =>
  `{metadata: {labels: {app: ${app}}}, spec: {${spec}, containers: [{name: main, image: "example.com/${app}"}]}}`;

const selector = (app: string): string => `{matchLabels: {app: ${app}}}`;

const job = (name: string, metadata: string, spec: string): string => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}${metadata}}
spec: {${spec}, template: ${pods(name, "restartPolicy: Never")}}
`;

const boats = definition("harbour.example.com", { kind: "Boat", scope: "Namespaced" });

const charts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  web: {
    "templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: {{ .Values.replicas | default 3 }}, selector: ${selector("web")}, template: ${pods("web", "enableServiceLinks: false")}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
`,
  },
  database: {
    "templates/database.yaml": `apiVersion: v1
kind: Service
metadata: {name: database}
spec: {clusterIP: None, selector: {app: database}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: database}
spec:
  serviceName: database
  replicas: 2
  selector: ${selector("database")}
  template: ${pods("database", "enableServiceLinks: false")}
  volumeClaimTemplates:
    - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`,
  },
  agent: {
    "templates/agent.yaml": `apiVersion: v1
kind: ServiceAccount
metadata: {name: agent}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {selector: ${selector("agent")}, template: ${pods("agent", "serviceAccountName: agent")}}
`,
  },
  batch: {
    "templates/migrate.yaml": job("migrate", `, annotations: {"helm.sh/hook": pre-install}`, "backoffLimit: 1"),
    "templates/seed.yaml": job("seed", "", "completions: 3, parallelism: 2"),
  },
  operator: {
    "crds/boats.yaml": JSON.stringify(boats),
    "templates/boat.yaml": `apiVersion: harbour.example.com/v1
kind: Boat
metadata: {name: one}
`,
    "templates/operator.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec: {selector: ${selector("operator")}, template: ${pods("operator", "terminationGracePeriodSeconds: 1")}}
`,
  },
};

test("charts of five shapes are installed, upgraded and uninstalled by a Helm that waits", { skip }, async (t) => {
  const settings = { controllers: ["*"], simulate: ["workloads"], simulateReadyAfterMs: 100 } as const;
  const server = await openServer("k8s.io", settings);
  t.after(() => server.close());
  const api = new Api(server);
  t.after(() => api.close());
  const { ns } = await api.createNamespace();
  const helm = helmIn(server, ns);
  const run = async (...args: string[]): Promise<void> => {
    const { code, output } = await helm(...args, "--wait", "--timeout=300s");
    assert.equal(code, 0, output);
  };
  const folders = new Map(Object.entries(charts).map(([name, files]) => [name, writeChart(name, files)]));
  for (const [name, folder] of folders) await run("install", name, folder, "--wait-for-jobs");
  const apps = `/apis/apps/v1/namespaces/${ns}`;
  (await api.get(`${apps}/deployments/web`)).expect(200, { "status.readyReplicas": 3 });
  (await api.get(`${apps}/statefulsets/database`)).expect(200, { "status.readyReplicas": 2 });
  (await api.get(`/apis/batch/v1/namespaces/${ns}/jobs/seed`)).expect(200, { "status.succeeded": 3 });
  await run("upgrade", "web", folders.get("web")!, "--set=replicas=5");
  (await api.get(`${apps}/deployments/web`)).expect(200, { "status.readyReplicas": 5 });
  await run("rollback", "web", "1");
  (await api.get(`${apps}/deployments/web`)).expect(200, { "spec.replicas": 3 });
  for (const name of folders.keys()) await run("uninstall", name);
});
