/**
 * Hostile identity providers and webhooks: answers that never arrive or never end. Each costs bounded time and memory,
 * its connection is closed, and other requests continue.
 */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { after, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import type { ServerSettings } from "#server/options.ts";
import { type Api, eventually, file, startObserved } from "../harness.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const megabyte = 1024 * 1024;
/** The maximum number of bytes that are read from an endless answer, including the buffers of both ends. */
const takenMax = 12 * megabyte;

/** Endless answers, and the errors about them. */
const misdeeds = {
  "headers byte by byte": {
    begin: "HTTP/1.1 200 OK\r\n",
    more: "X-Header: x\r\n",
    everyMs: 20,
    said: /no answer from/,
  },
  "headers without end": {
    begin: "HTTP/1.1 200 OK\r\n",
    more: `X: ${"x".repeat(8000)}\r\n`,
    everyMs: 0,
    said: /Header overflow/,
  },
  "a body that stops": {
    begin: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{",
    more: "",
    everyMs: 20,
    said: /no answer from/,
  },
  "a body byte by byte": {
    begin: "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    more: " ",
    everyMs: 20,
    said: /no answer from/,
  },
  "a body without end": {
    begin: "HTTP/1.1 200 OK\r\n\r\n",
    more: " ".repeat(65_536),
    everyMs: 0,
    said: /longer than \d+ bytes/,
  },
} as const;
type Misdeed = keyof typeof misdeeds;

/** A server in the role of all parties, with a misbehaviour. */
class Party {
  misdeed: Misdeed = "a body that stops";
  calls = 0;
  /** The number of bytes that each closed client had read. */
  readonly taken: number[] = [];
  readonly authority: string;
  readonly #server: https.Server;

  private constructor(authority: string, options: https.ServerOptions) {
    this.authority = authority;
    this.#server = https.createServer(options, (request, response) => {
      request.resume();
      request.once("end", () => this.#misbehave(response));
    });
  }

  static async open(): Promise<Party> {
    const authority = await fakeAuthority("parties");
    const { certificate, key } = await authority.issue({ usage: "server" });
    const party = new Party(authority.certificate, { cert: certificate, key });
    await new Promise<void>((resolve) => party.#server.listen(0, "127.0.0.1", resolve));
    return party;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // a TCP server's
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #misbehave(response: ServerResponse): void {
    this.calls += 1;
    const { begin, more, everyMs } = misdeeds[this.misdeed];
    const socket: Socket = response.socket!;
    socket.on("error", () => undefined);
    socket.once("close", () => {
      clearInterval(timer);
      this.taken.push(socket.bytesWritten);
    });
    const goOn = (): void => {
      while (!socket.destroyed && socket.write(more) && everyMs === 0);
    };
    socket.write(begin);
    const timer = everyMs === 0 ? undefined : setInterval(goOn, everyMs);
    if (everyMs === 0) {
      socket.on("drain", goOn);
      goOn();
    }
  }
}

const party = await Party.open();
after(() => party.close());

const kubeconfig = file(
  "party.kubeconfig",
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "party", user: "" } }],
    clusters: [
      {
        name: "party",
        cluster: { server: party.url, "certificate-authority-data": Buffer.from(party.authority).toString("base64") },
      },
    ],
    users: [],
  }),
);

interface Role {
  readonly settings: ServerSettings;
  /** The log message of its failures. */
  readonly told: string;
  /** The time that passes between two checks, during which new calls must not time out. */
  readonly stepMs: number;
  /** Makes the server call the party, and resolves with the status of the request that needed the call. */
  provoke(api: Api): Promise<number>;
  readonly answered: number;
}

const whoAmI = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const ask = async (api: Api, token: string): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` };
  return (await api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", whoAmI, { headers })).status;
};
let count = 0;

const roles: Readonly<Record<string, Role>> = {
  "an identity provider": {
    settings: { oidcIssuerUrl: party.url, oidcClientId: "api", oidcCaFile: file("party.crt", party.authority) },
    told: "could not be fetched",
    stepMs: 2500,
    provoke: (api) => ask(api, "an.id.token"),
    answered: 401,
  },
  "a token webhook": {
    settings: { authenticationTokenWebhookConfigFile: kubeconfig, authenticationTokenWebhookVersion: "v1" },
    told: "token webhook",
    stepMs: 1000,
    provoke: (api) => ask(api, `token-${++count}`),
    answered: 401,
  },
  "an authorization webhook": {
    settings: { authorizationMode: ["Webhook", "RBAC"], authorizationWebhookConfigFile: kubeconfig },
    told: "an authorization webhook gave no answer",
    stepMs: 3000,
    provoke: async (api) => (await api.get(`/api/v1/nodes/n${++count}`, { as: "bob" })).status,
    answered: 403,
  },
  "an audit webhook": {
    settings: {
      auditPolicyFile: file(
        "policy.json",
        JSON.stringify({
          apiVersion: "audit.k8s.io/v1",
          kind: "Policy",
          omitStages: ["RequestReceived"],
          rules: [{ level: "Metadata", users: ["bob"] }],
        }),
      ),
      auditWebhookConfigFile: kubeconfig,
      auditWebhookBatchMaxSize: 1,
    },
    told: "audit events are lost",
    stepMs: 5000,
    provoke: async (api) => (await api.get("/api/v1/nodes", { as: "bob" })).status,
    answered: 403,
  },
};

for (const [who, role] of Object.entries(roles)) {
  test(`${who} whose answer never ends costs a bounded time and bounded memory`, { skip }, async () => {
    const { api, clock, logged, close } = await startObserved("k8s.io", role.settings);
    try {
      for (const misdeed of Object.keys(misdeeds) as Misdeed[]) {
        party.misdeed = misdeed;
        party.calls = 0;
        party.taken.length = 0;
        logged.length = 0;
        // Calls of the last misbehaviour, and pauses after failures, end here.
        clock.advance(60_000);
        const answer = role.provoke(api);
        const { said } = misdeeds[misdeed];
        await eventually(() => {
          clock.advance(role.stepMs);
          const isTold = party.calls > 0 && logged.some((line) => line.includes(role.told) && said.test(line));
          return Promise.resolve(assert.ok(isTold, `${misdeed}: ${said}`));
        });
        assert.equal(await answer, role.answered, misdeed);
        assert.ok(party.calls <= 20, `${misdeed}: ${party.calls} calls`);
        await eventually(() => {
          clock.advance(role.stepMs);
          return Promise.resolve(assert.ok(party.taken.length > 0, `${misdeed}: the connection stays`));
        });
        for (const bytes of party.taken) assert.ok(bytes < takenMax, `${misdeed}: ${bytes} bytes were taken`);
        (await api.get("/readyz")).expect(200);
      }
    } finally {
      await close();
    }
  });
}
