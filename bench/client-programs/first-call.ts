/** Makes one call: import, kubeconfig, connection, answer. Prints the same as `import.ts`. */
const before = process.cpuUsage();
const beforeBytes = process.memoryUsage.rss();
const { connect } = await import("#client/exports.ts");
const { Namespace } = await import("#client/kinds.ts");
const cluster = await connect({ kubeconfig: process.argv[2]! });
await cluster.kind(Namespace).get("default");
const { user, system } = process.cpuUsage(before);
const rssMb = (process.memoryUsage.rss() - beforeBytes) / 1024 / 1024;
console.log(JSON.stringify({ cpuUsPerOp: user + system, rssMb }));
await cluster.close();

export {};
