/** Helm waits until a release is ready: a service is ready when it has an address. Needs helm on the PATH. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { anyServer, temporaryFolder } from "../harness.ts";

const skip = spawnSync("helm", ["version"]).status === 0 ? undefined : "helm is not here";

const chart: Readonly<Record<string, string>> = {
  "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
  "templates/service.yaml": `apiVersion: v1
kind: Service
metadata: { name: "{{ .Release.Name }}" }
spec: { ports: [{ port: {{ .Values.port | default 80 }} }] }
---
apiVersion: v1
kind: Service
metadata: { name: "{{ .Release.Name }}-outside" }
spec: { type: NodePort, ports: [{ port: 80 }] }
`,
};

test(
  "a chart with services is installed, upgraded and removed by a helm that waits",
  skip === undefined ? {} : { skip },
  async () => {
    const server = await anyServer("k8s.io");
    after(() => server.close());
    const folder = temporaryFolder();
    mkdirSync(join(folder, "shop/templates"), { recursive: true });
    for (const [name, text] of Object.entries(chart)) writeFileSync(join(folder, "shop", name), text);
    writeFileSync(join(folder, "kubeconfig"), server.kubeconfig);
    const helm = async (...args: readonly string[]): Promise<string> => {
      const env = { ...process.env, KUBECONFIG: join(folder, "kubeconfig"), HOME: folder };
      const child = spawn("helm", [...args, "--timeout=120s"], { cwd: folder, env });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (piece: Buffer) => (output += piece.toString()));
      const code = await new Promise((done) => child.once("close", done));
      assert.equal(code, 0, output);
      return output;
    };
    assert.match(await helm("install", "one", "./shop", "--wait"), /STATUS: deployed/);
    assert.match(await helm("upgrade", "one", "./shop", "--set=port=81", "--atomic"), /STATUS: deployed/);
    await helm("uninstall", "one", "--wait");
  },
);
