/**
 * The paths by which tests in other languages use what a test server can do beyond a server: `docs/testing.md` is their
 * contract. Only the holder of the server's token may use them. Requests and answers are JSON; these requests meet no
 * faults and are not recorded.
 */
import { timingSafeEqual } from "node:crypto";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { RequestFault, RequestMatch } from "./faults.ts";
import type { Snapshot, TestServer } from "./test-server.ts";

export const controlPrefix = "/binnacle/testing/v1/";

/** The values of a request's body. Their types are those of the page; wrong ones are refused by what takes them. */
interface ControlBody {
  readonly snapshot?: string;
  readonly advance?: string | number;
  readonly match?: RequestMatch;
  readonly fault?: RequestFault;
  readonly times?: number;
}

type Action = (body: ControlBody) => unknown;

const bodyBytesMax = 1024 * 1024;

/** Returns the handler of the paths; it answers `undefined` to requests for other paths. */
export function controlPaths(server: TestServer): (request: ApiRequest) => Promise<Reply> | undefined {
  const actions = actionsOf(server);
  return (request) => {
    if (!request.path.startsWith(controlPrefix)) return undefined;
    if (!isHolder(request, server.token))
      return Promise.resolve(failure(403, "only the holder of the token may do this"));
    const name = `${request.method} ${request.path.slice(controlPrefix.length)}`;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) return Promise.resolve(failure(404, `a test server has no ${name}`));
    return answer(request, action);
  };
}

function actionsOf(server: TestServer): Readonly<Record<string, Action>> {
  const snapshots = new Map<string, Snapshot>();
  return {
    "POST reset": () => server.reset(),
    "POST snapshot": () => {
      const snapshot = server.snapshot();
      const name = String(snapshots.size + 1);
      snapshots.set(name, snapshot);
      return { snapshot: name, resourceVersion: snapshot.resourceVersion };
    },
    "POST restore": ({ snapshot: name = "" }) => {
      const snapshot = snapshots.get(name);
      if (snapshot === undefined) throw new RangeError(`no snapshot has the name ${JSON.stringify(name)}`);
      return server.restore(snapshot);
    },
    "POST settled": () => server.settled(),
    "GET clock": () => clockOf(server),
    "POST clock": async ({ advance = "" }) => {
      await server.clock.advance(advance);
      return clockOf(server);
    },
    "POST faults": ({ match = {}, fault, times = 1 }) => {
      if (fault === undefined) throw new RangeError("fault is missing");
      server.faults.next(match, fault, { times });
    },
    "DELETE faults": () => server.faults.clear(),
    "POST drop-watches": ({ match = {} }) => ({ dropped: server.faults.dropWatches(match) }),
    "POST compact": () => server.faults.compact(),
    "GET requests": () => ({ requests: server.requests() }),
    "GET logs": () => ({ lines: server.logs() }),
  };
}

const clockOf = ({ clock }: TestServer) => ({ now: new Date(clock.now()).toISOString() });

async function answer(request: ApiRequest, action: Action): Promise<Reply> {
  try {
    const text = (await request.body(bodyBytesMax)).toString();
    const body = (text === "" ? {} : JSON.parse(text)) as ControlBody | null; // what the page asks for
    return json(200, (await action(body ?? {})) ?? {});
  } catch (error) {
    const { message } = error as Error; // nothing throws anything else
    const isRefusal = error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError;
    return failure(isRefusal ? 400 : 500, message);
  }
}

function isHolder({ headers }: ApiRequest, token: string): boolean {
  const given = Buffer.from(headers["authorization"] ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

const json = (code: number, value: unknown): Reply => ({
  code,
  contentType: "application/json",
  bytes: Buffer.from(`${JSON.stringify(value)}\n`),
});

/** Returns a `Status`, whose message clients of Kubernetes show. */
const failure = (code: number, message: string): Reply =>
  json(code, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, code });
