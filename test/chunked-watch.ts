/**
 * A watch over HTTP/1.1 or HTTP/2 that delivers its events as they arrive: the events of one piece of the body
 * together.
 */
import type http2 from "node:http2";
import https from "node:https";
import type { Api } from "./harness.ts";

interface ChunkedWatch {
  /** Called with the lines that a piece of the body completes. */
  onLines(lines: readonly string[]): void;
  /** Called once when the body has ended for any reason. */
  onEnd?(): void;
}

/**
 * Opens a watch of `path`, which may have a query, over `session` if it is given, else over a new connection. Resolves
 * with a function that ends the watch, once the server has answered 200.
 */
export async function openChunkedWatch(
  api: Api,
  session: http2.ClientHttp2Session | undefined,
  path: string,
  { onLines, onEnd }: ChunkedWatch,
): Promise<() => void> {
  const { host, port, rename } = api.endpoint;
  const full = rename(`${path}${path.includes("?") ? "&" : "?"}watch=true`);
  const authorization = "Bearer admin-token";
  let rest = "";
  const take = (text: string): void => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) onLines(lines);
  };
  const check = (status: unknown): void => {
    if (status !== 200) throw new Error(`GET ${full} answered ${String(status)}`);
  };
  if (session !== undefined) {
    const stream = session.request({ ":path": full, authorization });
    stream.setEncoding("utf8").on("data", take);
    stream.on("error", () => undefined).once("close", () => onEnd?.());
    const answer = await new Promise<http2.IncomingHttpHeaders>((resolve, reject) => {
      stream.once("response", resolve).once("error", reject);
    });
    check(answer[":status"]);
    return () => stream.close();
  }
  const options = { host, port, path: full, headers: { authorization }, ca: api.server.ca, agent: false } as const;
  return new Promise((resolve, reject) => {
    const request = https.get(options, (message) => {
      message.setEncoding("utf8").on("data", take);
      message.on("error", () => undefined).once("close", () => onEnd?.());
      try {
        check(message.statusCode);
        resolve(() => request.destroy());
      } catch (error) {
        reject(error as Error);
      }
    });
    request.on("error", reject);
  });
}
