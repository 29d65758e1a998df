/** Descriptions of services, ingresses and network policies. `../descriptions.ts` explains the format. */
export const services = `
package io.k8s.api.core.v1
Service: One address for a group of pods.
  spec: Which pods, on which ports, and how they are reached.
  status: What was observed, such as addresses of a load balancer.
ServiceSpec:
  ports: Ports of the service.
  selector: Labels of the pods that answer. Without it, somebody else writes the endpoints.
  type: ClusterIP (the default) inside of the cluster, NodePort also on every node, LoadBalancer also from outside, ExternalName as another name.
  clusterIP: Address inside of the cluster. Given by the server unless said; None for a headless service, whose name leads to the pods themselves. It cannot be changed while the type needs it.
  clusterIPs: The same for both address families; the first is clusterIP.
  ipFamilies: IPv4, IPv6, or both in an order.
  ipFamilyPolicy: SingleStack (the default), PreferDualStack or RequireDualStack.
  externalIPs: Addresses outside of the cluster that somebody else leads to its nodes.
  externalName: Name that a service of the type ExternalName stands for.
  sessionAffinity: ClientIP sends a client to the same pod again; None (the default) does not.
  sessionAffinityConfig: Settings of session affinity.
  loadBalancerIP: Address wished for a load balancer. Many ignore it.
  loadBalancerSourceRanges: Addresses from which a load balancer takes connections.
  loadBalancerClass: Kind of load balancer. It cannot be changed.
  allocateLoadBalancerNodePorts: Whether a load balancer's service gets ports on the nodes; true by default.
  externalTrafficPolicy: Cluster (the default) spreads connections from outside over all pods, Local keeps them on the node and shows the client's address.
  internalTrafficPolicy: Cluster (the default) spreads connections from inside over all pods, Local keeps them on the node.
  trafficDistribution: Which endpoints are preferred, such as PreferClose.
  healthCheckNodePort: Port on which nodes say whether they have pods of the service, for externalTrafficPolicy Local.
  publishNotReadyAddresses: Whether pods count that are not ready.
ServicePort: A port of a service.
  name: Name of the port; needed when there are several.
  protocol: TCP (the default), UDP or SCTP.
  appProtocol: Protocol spoken on it, as a hint.
  port: Number of the port on the service's address.
  targetPort: Number or name of the port of the pods; "port" unless said.
  nodePort: Port on every node, for NodePort and LoadBalancer. Given by the server unless said.
ServiceStatus: What was observed of a service.
  loadBalancer: Where its load balancer is.
  conditions: What holds of the service.
LoadBalancerStatus: Where a load balancer is.
  ingress: Its addresses.
LoadBalancerIngress: One address of a load balancer.
  ip: The address.
  hostname: Its name, where there is no address.
  ipMode: VIP or Proxy: how packets arrive at the nodes.
  ports: State of its ports.
Endpoints: Addresses behind a service. EndpointSlices have taken their place.
  subsets: Groups of addresses with the same ports.
EndpointSubset: Addresses that have the same ports.
  addresses: Addresses that are ready.
  notReadyAddresses: Addresses that are not.
  ports: The ports.
EndpointAddress: One address.
  ip: The address.
  hostname: Host name under the service's.
  nodeName: Node of the address.
  targetRef: Object that has the address, mostly a pod.
EndpointPort: One port.
  name: Name of the service's port.
  port: Number of the port.
  protocol: TCP, UDP or SCTP.
  appProtocol: Protocol spoken on it, as a hint.

package io.k8s.api.networking.v1
Ingress: Leads requests by HTTP from outside to services, by host and path.
  spec: Which requests lead where.
  status: Where requests arrive.
IngressSpec:
  ingressClassName: Class of the controller that serves it.
  defaultBackend: Where requests lead that no rule is for.
  tls: Certificates by host.
  rules: Rules by host.
IngressRule: What holds for one host.
  host: Name of the host; *.example.com for all names one level below; empty for all.
  http: Rules by path.
HTTPIngressRuleValue:
  paths: Paths and where they lead.
HTTPIngressPath: A path and where it leads.
  path: Beginning of the path, or all of it.
  pathType: Exact, Prefix (by whole segments) or ImplementationSpecific.
  backend: Where it leads.
IngressBackend: Where requests lead; one of the two.
  service: A service of the namespace.
  resource: Another object of the namespace.
IngressServiceBackend: A service as the aim of requests.
  name: Name of the service.
  port: Its port.
ServiceBackendPort: A port of a service, by name or number.
  name: Name of the port.
  number: Number of the port.
IngressTLS: A certificate for some hosts.
  hosts: Names in the certificate.
  secretName: Secret of the type kubernetes.io/tls with the certificate and its key.
IngressStatus:
  loadBalancer: Addresses of the load balancer.
IngressClass: A controller for ingresses.
  spec: Which controller, with which settings.
IngressClassSpec:
  controller: Name of the controller, such as example.com/ingress.
  parameters: Object with settings for it.
NetworkPolicy: Says which connections pods may take and make.
  spec: For which pods, and what is allowed.
NetworkPolicySpec:
  podSelector: Labels of the pods it is for; empty for all of the namespace.
  policyTypes: Ingress, Egress or both: which direction it bounds.
  ingress: Connections that the pods may take; none when it is empty.
  egress: Connections that the pods may make; none when it is empty.
NetworkPolicyIngressRule: Connections that may be taken.
  from: Who may connect; everybody when it is empty.
  ports: On which ports; on all when it is empty.
NetworkPolicyEgressRule: Connections that may be made.
  to: To whom; to everybody when it is empty.
  ports: On which ports; on all when it is empty.
NetworkPolicyPeer: Pods or addresses.
  podSelector: Labels of the pods.
  namespaceSelector: Labels of the namespaces; that of the policy unless said.
  ipBlock: A range of addresses.
NetworkPolicyPort: A port or a range of ports.
  protocol: TCP (the default), UDP or SCTP.
  port: Number or name of the port.
  endPort: Last port of a range that begins with "port".
IPBlock:
  cidr: The range, such as 192.168.1.0/24.
  except: Ranges inside of it that are left out.
`;
