/** The address at which a service of the cluster is reached, for webhooks and aggregated API servers. */

export interface ServiceAddress {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Throws an `Error` whose message says, in upstream's words, why the service cannot be reached. */
export type FindServiceAddress = (namespace: string, name: string, port: number) => ServiceAddress;

/** The text is as in a URL. */
export const hostPort = ({ host, port }: ServiceAddress): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
