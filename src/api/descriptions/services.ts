/** Descriptions of services, ingresses and network policies. `../descriptions.ts` explains the format. */
export const services = `
package io.k8s.api.core.v1
Service: One address for a group of pods.
  spec: The pods and ports of the service, and the ways to reach it.
  status: The observed state, such as addresses of a load balancer.
ServiceSpec:
  ports: The ports at which the service is reached.
  selector: Labels of the pods that answer. Without it, other clients write the endpoints.
  type: The reach of the service: ClusterIP (the default) inside the cluster, NodePort also on every node, LoadBalancer also from outside, ExternalName as another name.
  clusterIP: Address inside the cluster. The server chooses one by default; None is for a headless service, whose name leads to the pods themselves. It cannot be changed while the type needs it.
  clusterIPs: Addresses inside the cluster, one for each address family; the first is clusterIP.
  ipFamilies: Address families of the service: IPv4, IPv6, or both in an order.
  ipFamilyPolicy: The policy for the number of address families: SingleStack (the default), PreferDualStack or RequireDualStack.
  externalIPs: Addresses outside the cluster whose traffic somebody else leads to its nodes.
  externalName: Name that a service of the type ExternalName stands for.
  sessionAffinity: The policy for further connections of a client: ClientIP for the same pod again, None (the default) for any pod.
  sessionAffinityConfig: The settings of session affinity; they need the policy ClientIP.
  loadBalancerIP: Address requested for a load balancer. Many load balancers ignore it.
  loadBalancerSourceRanges: Addresses from which a load balancer accepts connections.
  loadBalancerClass: Kind of load balancer. It cannot be changed.
  allocateLoadBalancerNodePorts: Whether a load balancer's service gets ports on the nodes; true by default.
  externalTrafficPolicy: The policy for connections from outside: Cluster (the default) spreads them over all pods, Local keeps them on the node and shows the client's address.
  internalTrafficPolicy: The policy for connections from inside: Cluster (the default) spreads them over all pods, Local keeps them on the node.
  trafficDistribution: The preference among the endpoints, such as PreferClose.
  healthCheckNodePort: Port on which nodes say whether they have pods of the service, for externalTrafficPolicy Local.
  publishNotReadyAddresses: Whether pods that are not ready count as well.
ServicePort: A port of a service.
  name: Name of the port; needed when there are several.
  protocol: The protocol: TCP (the default), UDP or SCTP.
  appProtocol: Application protocol of the port, as a hint.
  port: Number of the port on the service's address.
  targetPort: Number or name of the port of the pods; by default the number in "port".
  nodePort: Port on every node, for NodePort and LoadBalancer. The server chooses one by default.
ServiceStatus: The observed state of a service.
  loadBalancer: The addresses of the service's load balancer.
  conditions: The conditions of the service.
LoadBalancerStatus:
  ingress: The addresses at which the load balancer is reached.
LoadBalancerIngress: One address of a load balancer.
  ip: The address of the load balancer.
  hostname: Host name of the load balancer, where there is no address.
  ipMode: The mode in which packets arrive at the nodes: VIP or Proxy.
  ports: The state of the service's ports at this address.
Endpoints: The addresses of a service. EndpointSlices have replaced them.
  subsets: Groups of addresses with the same ports.
EndpointSubset: Addresses that have the same ports.
  addresses: The addresses that are ready for traffic.
  notReadyAddresses: Addresses that are not ready.
  ports: The ports that all these addresses have.
EndpointAddress: One address.
  ip: The address, of IPv4 or IPv6; loopback and link-local addresses are refused.
  hostname: Host name under that of the service.
  nodeName: The name of the node that has the address.
  targetRef: Object that has the address, mostly a pod.
EndpointPort: One port.
  name: Name of the service's port.
  port: The number of the port, from 1 to 65535.
  protocol: The protocol: TCP, UDP or SCTP.
  appProtocol: Application protocol of the port, as a hint.

package io.k8s.api.networking.v1
Ingress: Rules that lead HTTP requests from outside to services, by host and path.
  spec: The rules, and the certificates.
  status: The addresses at which requests arrive.
IngressSpec:
  ingressClassName: Name of the class of the controller that serves the ingress.
  defaultBackend: The backend for requests that no rule matches.
  tls: The certificates, and the hosts that they are for.
  rules: The rules, each for one host.
IngressRule: The rule for one host.
  host: Name of the host; *.example.com for all names one level below; empty for all.
  http: The paths of the host and their backends.
HTTPIngressRuleValue:
  paths: The paths and their backends; the longest that matches wins.
HTTPIngressPath: A path and its backend.
  path: Beginning of the path, or all of it.
  pathType: The comparison of paths: Exact, Prefix (by whole segments) or ImplementationSpecific.
  backend: The backend for requests with this path.
IngressBackend: The target of requests; one of the two is given.
  service: A service of the namespace.
  resource: Another object of the namespace.
IngressServiceBackend: A service as the target of requests.
  name: The name of the service, in the namespace of the ingress.
  port: The port of the service, by name or number.
ServiceBackendPort:
  name: The name of the service's port; it excludes a number.
  number: The number of the service's port; it excludes a name.
IngressTLS: A certificate for some hosts.
  hosts: The names that the certificate is for; the controller decides when there are none.
  secretName: Secret of the type kubernetes.io/tls with the certificate and its key.
IngressStatus:
  loadBalancer: Addresses of the load balancer.
IngressClass: A class of ingresses, which one controller serves.
  spec: The controller and its settings.
IngressClassSpec:
  controller: Name of the controller, such as example.com/ingress.
  parameters: Object with settings for the controller.
NetworkPolicy: Rules about the connections that pods may accept and open.
  spec: The pods that the policy is for, and the connections that it allows.
NetworkPolicySpec:
  podSelector: Labels of the pods that the policy is for; empty for all pods of the namespace.
  policyTypes: The directions that the policy restricts: Ingress, Egress or both.
  ingress: Connections that the pods may accept; none when it is empty.
  egress: Connections that the pods may open; none when it is empty.
NetworkPolicyIngressRule: A rule about connections that may be accepted.
  from: The peers that may connect; all when it is empty.
  ports: The ports to which they may connect; all when it is empty.
NetworkPolicyEgressRule: A rule about connections that may be opened.
  to: The peers to which the pods may connect; all when it is empty.
  ports: The ports to which they may connect; all when it is empty.
NetworkPolicyPeer: Pods or addresses at the other end of connections.
  podSelector: Labels of the pods; all pods match when it is empty.
  namespaceSelector: Labels of the namespaces; without it, the namespace of the policy.
  ipBlock: A range of addresses; it excludes the two selectors.
NetworkPolicyPort: A port or a range of ports.
  protocol: The protocol: TCP (the default), UDP or SCTP.
  port: Number or name of the port.
  endPort: Last port of a range that begins with "port".
IPBlock:
  cidr: The range, such as 192.168.1.0/24.
  except: Ranges inside "cidr" that are left out.

package io.k8s.api.core.v1
PortStatus: The state of one port of a load balancer.
  port: The number of the service's port.
  protocol: The protocol of the port: TCP, UDP or SCTP.
  error: The problem with the port, in one word; absent when there is none.
SessionAffinityConfig:
  clientIP: The settings of affinity by the client's address.
ClientIPConfig:
  timeoutSeconds: The seconds for which a client stays with its pod, from 1 to 86400; 10800 (three hours) by default.

package io.k8s.api.networking.v1
IngressClassParametersReference:
  apiGroup: The group of the object; the core group when absent.
  kind: The kind of the object.
  name: The name of the object.
  scope: The scope of the object: Cluster (the default) or Namespace.
  namespace: The namespace of the object; it is given for the scope Namespace, and only then.
IngressLoadBalancerStatus:
  ingress: The addresses at which requests arrive; the controller writes them.
IngressLoadBalancerIngress: One address of a load balancer.
  ip: The address of the load balancer.
  hostname: Host name of the load balancer, where there is no address.
  ports: The state of the ports at this address.
IngressPortStatus: The state of one port of a load balancer.
  port: The number of the port.
  protocol: The protocol of the port: TCP, UDP or SCTP.
  error: The problem with the port, in one word; absent when there is none.

package io.k8s.api.networking.v1beta1
IPAddress: An address that is in use. The server makes one for each cluster address of a service; its name is the address.
  spec: The object that uses the address.
IPAddressSpec:
  parentRef: The object that uses the address, mostly a service.
ParentReference:
  group: The group of the object; the core group when empty.
  resource: The resource of the object, such as services.
  namespace: The namespace of the object.
  name: The name of the object.
ServiceCIDR: Ranges from which services get their cluster addresses.
  spec: The ranges. They cannot be changed.
  status: The state of the ranges; a controller writes it.
ServiceCIDRSpec:
  cidrs: The ranges, such as 10.96.0.0/12: one, or one for each of IPv4 and IPv6. They cannot be changed.
ServiceCIDRStatus:
  conditions: The conditions of the ranges; Ready says whether addresses are taken from them.

package io.k8s.api.discovery.v1
EndpointSlice: A part of the endpoints of a service. The label kubernetes.io/service-name says which service.
  addressType: The kind of addresses: IPv4, IPv6 or FQDN. It cannot be changed.
  endpoints: The endpoints of the slice, 1000 at most.
  ports: The ports that all endpoints of the slice have, 100 at most; none when it is empty.
Endpoint: One backend of a service, mostly a pod.
  addresses: The addresses of the endpoint, 1 to 100, which are interchangeable; clients mostly use the first.
  conditions: The state of the endpoint.
  hostname: The host name of the endpoint, under that of the service.
  targetRef: The object that is the endpoint, mostly a pod.
  deprecatedTopology: A map of topology labels for older clients; it cannot be written in v1.
  nodeName: The name of the node of the endpoint.
  zone: The name of the zone of the endpoint.
  hints: The advice to proxies about who should use the endpoint.
EndpointConditions: The state of an endpoint. A condition that is absent is not known.
  ready: Whether the endpoint takes new traffic: it serves and is not being ended. Read it as true when absent.
  serving: Whether the endpoint answers requests, even while it is being ended. Read it as "ready" when absent.
  terminating: Whether the endpoint is being ended. Read it as false when absent.
EndpointHints:
  forZones: The zones whose clients should use the endpoint, 8 at most.
ForZone: A zone whose clients should use an endpoint.
  name: The name of the zone.
EndpointPort: A port of the endpoints of a slice.
  name: The name of the port, as in the service; unique in the slice.
  protocol: The protocol: TCP (the default), UDP or SCTP.
  port: The number of the port; every port is meant when it is absent.
  appProtocol: Application protocol of the port, as a hint.
`;
