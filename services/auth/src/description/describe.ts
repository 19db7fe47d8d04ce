/** The gate in OpenAPI 3.0: the endpoints that applications call, and the management API. Pages for people are not described. */

import { routes } from '../management/routes.ts';
import { auth0 } from './auth0.ts';
import { describeManagement, managementSchemas, pathOf, tagOf } from './management.ts';
import { type Described, describeOperation, type Schema } from './openapi.ts';
import { protocol, protocolSchemas } from './protocol.ts';

export type OpenApi = {
  openapi: string;
  info: { title: string; version: string; description: string };
  tags: { name: string; description?: string; 'x-displayName': string }[];
  'x-tagGroups': { name: string; tags: string[] }[];
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema>; securitySchemes: object };
};

let described: OpenApi | undefined;

/** Without `servers`. */
export function describeGate(): OpenApi {
  described ??= describe();
  return described;
}

const own: [tag: string, title: string, description: string][] = [
  [
    'protocol',
    'OAuth 2.0 and OpenID Connect',
    'The endpoints of the protocols. `/.well-known/openid-configuration` names them all; libraries need nothing else.',
  ],
  ['auth0', "Auth0's authentication API", "What Auth0's SDKs call besides the protocols."],
  ['meta', 'This description', ''],
];
const absent = [
  'absent',
  'What Auth0 has and Gatepost does not',
  "Auth0's tools look here first. They find empty lists and disabled features; a write is accepted if it asks for the current state.",
] as const;

function describe(): OpenApi {
  const schemas: Record<string, Schema> = { ...protocolSchemas, ...managementSchemas };
  const paths: OpenApi['paths'] = {};
  for (const [path, operations] of Object.entries({ ...protocol, ...auth0 })) {
    paths[path] = {};
    for (const [method, operation] of Object.entries(operations))
      paths[path][method] = describeOperation(path, operation, schemas);
  }
  for (const route of routes) {
    const path = pathOf(route);
    paths[path] ??= {};
    paths[path][route.method] = describeOperation(path, describeManagement(route, schemas), schemas);
  }
  const present = routes.filter(({ description }) => !description);
  const managementTags = [...new Set(present.map(({ path }) => tagOf(path)))];
  return {
    openapi: '3.0.3',
    info: {
      title: 'Gatepost gate',
      version: '2',
      description:
        'An authorization server: OAuth 2.0 and OpenID Connect, with the endpoints of Auth0’s authentication and management APIs. Every route of the management API takes an access token whose audience is `…/api/v2/`.',
    },
    tags: [
      ...own.map(([name, title, description]) => ({
        name,
        'x-displayName': title,
        ...(description && { description }),
      })),
      ...managementTags.map((name) => ({ name, 'x-displayName': titleOf(name) })),
      { name: absent[0], 'x-displayName': absent[1], description: absent[2] },
    ],
    'x-tagGroups': [
      { name: 'Authentication', tags: own.map(([name]) => name) },
      { name: 'Management', tags: [...managementTags, absent[0]] },
    ],
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token of the gate' },
      },
    },
  };
}

const titleOf = (tag: string): string => tag[0]!.toUpperCase() + tag.slice(1).replaceAll('-', ' ');
