/** A plain HTTP server that only answers health checks, for programs that wait for another server. */
import { createServer } from "node:http";

/** Listens until the process ends. Rejects when the port is not available. */
export async function openHealthOnly(host: string, port: number): Promise<void> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"health":"true"}');
  });
  await new Promise<void>((done, failed) => {
    server.once("error", failed);
    server.listen(port, host, done);
  });
}
