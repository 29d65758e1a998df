/** `npm run scale-out -- serve`: etcd, servers and a load balancer for other programs, until a signal ends them. */
import { once } from "node:events";
import { spawn } from "node:child_process";
import { readCommandLine } from "../../../scripts/command-line.ts";
import { missing } from "../etcd-for-tests.ts";
import { notBuilt } from "../server-processes.ts";
import { onStage } from "../stage.ts";

const usage = `Starts members of etcd, servers on them, and a load balancer that hands connections to the servers in turn.

Usage: npm run scale-out -- serve [options] [-- COMMAND ARG...]

  --members N    the number of members, 1 or 3 (default 3)
  --servers N    the number of servers (default 3)
  --port N       the port of the load balancer; a free one by default
  -o json        print the address and the kubeconfig's path as a line of JSON
  --flag TEXT    a flag of the servers, such as --flag=--authorization-mode=RBAC; may be given several times
  -h, --help     print this

The kubeconfig's path is printed. With a command, the command runs with KUBECONFIG and SERVER_URL in its environment, and
everything ends with it; without one, with Ctrl-C.`;

const { values, positionals } = readCommandLine(
  usage,
  {
    members: { type: "string", default: "3" },
    servers: { type: "string", default: "3" },
    port: { type: "string", default: "0" },
    output: { type: "string", short: "o" },
    flag: { type: "string", multiple: true, default: [] },
  },
  true,
);

/** Runs the command of the command line. Returns its exit code. */
async function runCommand(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, ...env } });
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => child.kill(name));
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

const problem = missing() ?? notBuilt();
if (problem !== undefined) {
  process.stderr.write(`scale-out: ${problem}\n`);
  process.exitCode = 1;
} else {
  const options = {
    members: values.members === "1" ? (1 as const) : (3 as const),
    servers: Number(values.servers),
    port: Number(values.port),
    flags: values.flag,
  };
  process.exitCode = await onStage(options, async ({ balancer, kubeconfig, servers }) => {
    const urls = servers.all.map(({ url }) => `  ${url}\n`).join("");
    if (values.output === "json") process.stdout.write(`${JSON.stringify({ url: balancer.url, kubeconfig })}\n`);
    else process.stdout.write(`${balancer.url}\n${urls}${kubeconfig}\n`);
    const [command, ...args] = positionals;
    if (command !== undefined) return runCommand(command, args, { KUBECONFIG: kubeconfig, SERVER_URL: balancer.url });
    await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
    return 0;
  });
}
