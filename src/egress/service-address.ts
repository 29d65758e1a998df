/** The address at which a service of the cluster is reached, for webhooks and aggregated API servers. */

export interface ServiceAddress {
  /** A host name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Throws an `Error` whose message has upstream's words for the reason why the service cannot be reached. */
export type FindServiceAddress = (namespace: string, name: string, port: number) => ServiceAddress;

/** Returns host and port as in a URL. */
export const hostPort = ({ host, port }: ServiceAddress): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
