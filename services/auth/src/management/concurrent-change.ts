/**
 * Concurrent deletions and creations between a request's check and its write. The database refuses such a write; for every route, this
 * turns the refusal into what the check would have found a moment later: 404 for whatever is gone, or 409.
 */
import { Prisma } from '../database.ts';
import { conflict, type ManagementProblem, missing } from './problem.ts';

type Kind = [kind: string, message: string];

const user: Kind = ['user', 'The user does not exist.'];
const role: Kind = ['role', 'The role does not exist.'];
const client: Kind = ['client', 'The client does not exist'];
const connection: Kind = ['connection', 'The connection does not exist'];
const organization: Kind = ['organization', 'No organization found by that id or name'];
const member: Kind = ['organization_member', 'The user is not a member of the organization.'];
const action: Kind = ['action', 'The action does not exist.'];

/** By Prisma's model names. */
const byModel: Record<string, Kind> = {
  Account: user,
  Action: action,
  Client: client,
  ClientCredential: ['credential', 'The credential does not exist'],
  Connection: connection,
  Organization: organization,
  OrganizationConnection: ['connection', 'The connection is not enabled for the organization.'],
  ResourceServer: ['resource_server', 'The resource server does not exist'],
  Role: role,
};

/** By the columns in the name of a PostgreSQL foreign key: `user_roles_role_id_fkey`. The longest first. */
const byColumns: [columns: string, Kind][] = [
  ['organization_id_user_id', member],
  ['organization_id', organization],
  ['connection_id', connection],
  ['client_id', client],
  ['action_id', action],
  ['role_id', role],
  ['user_id', user],
];

/** Undefined for any other error. */
export function concurrentChangeProblem(error: unknown): ManagementProblem | undefined {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return undefined;
  switch (error.code) {
    case 'P2025':
      return missing(...(byModel[modelOf(error)] ?? ['resource', 'It does not exist.']));
    case 'P2003':
      return missing(...(referred(error) ?? ['resource', 'Something that the request names does not exist.']));
    case 'P2002': {
      const [kind] = byModel[modelOf(error)] ?? ['resource'];
      return conflict(`${kind}_conflict`, `One like this already exists (${kind}).`);
    }
    default:
      return undefined;
  }
}

type KnownRequestError = InstanceType<typeof Prisma.PrismaClientKnownRequestError>;

const modelOf = ({ meta }: KnownRequestError) => String(meta?.modelName ?? '');

/** The place of the constraint in the driver's error differs between releases of Prisma. */
function referred({ meta }: KnownRequestError): Kind | undefined {
  const [, name = ''] = /"(\w+)_fkey"/.exec(JSON.stringify(meta ?? {})) ?? [];
  return byColumns.find(([columns]) => name.endsWith(columns))?.[1];
}
