/**
 * Addresses where clouds give machines their secrets: instance metadata, credentials of tasks and pods, the host’s agent. Most are in ranges
 * that are refused anyway, but a few look like ordinary public addresses. Exempting a network does not exempt these: allowing
 * `100.64.0.0/10` for a mesh network is not meant to hand out credentials.
 */
export const cloudMetadata = [
  '169.254.169.254', // * AWS, Azure, Google, Oracle: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
  'fd00:ec2::254', // AWS, the same over IPv6: the same page
  '169.254.170.2', // AWS ECS, task credentials: docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html
  '169.254.170.23', // AWS EKS, pod credentials: docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html
  'fd00:ec2::23', // AWS EKS over IPv6: the same page
  '168.63.129.16', // Azure, the host's agent; a public address: learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
  'fd20:ce::254', // Google over IPv6: cloud.google.com/compute/docs/metadata/querying-metadata
  'fd00:c1::a9fe:a9fe', // Oracle over IPv6: the endpoint in github.com/oracle/oci-python-sdk, instance_principals_security_token_signer.py
  '192.0.0.192', // Oracle Cloud Infrastructure Classic: docs.oracle.com/en/cloud/iaas-classic/compute-iaas-cloud/stcsg
  'fe80::a9fe:a9fe', // OpenStack over IPv6: docs.openstack.org/nova/latest/user/metadata.html
  '100.100.100.200', // Alibaba: alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata
  'fd00:100::100:200', // Alibaba over IPv6: the same page
  '169.254.0.23', // Tencent (metadata.tencentyun.com): tencentcloud.com/document/product/213/4934
  '169.254.42.42', // Scaleway: scaleway.com/en/docs/instances/how-to/use-cloud-init
  'fd00:42::42', // Scaleway over IPv6: the same page
  'fd00:a9fe:a9fe::1', // Akamai (Linode) over IPv6: techdocs.akamai.com/cloud-computing/docs/overview-of-the-metadata-service
  '192.80.8.124', // Equinix Metal (metadata.packet.net); a public address: deploy.equinix.com/developers/docs/metal/server-metadata/metadata
];
