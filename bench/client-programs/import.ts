/**
 * Imports the modules whose URLs are its arguments. It prints the CPU time of this process for them in microseconds, and
 * the memory in MB that came with them.
 */
const before = process.cpuUsage();
const beforeBytes = process.memoryUsage.rss();
for (const url of process.argv.slice(2)) await import(url);
const { user, system } = process.cpuUsage(before);
const rssMb = (process.memoryUsage.rss() - beforeBytes) / 1024 / 1024;
console.log(JSON.stringify({ cpuUsPerOp: user + system, rssMb }));

export {};
