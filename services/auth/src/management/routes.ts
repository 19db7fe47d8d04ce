/** Every route of the management API: method, path below `api/v2`, the scopes any one of which opens it, what it does. */

import { absentRoutes } from './absent.ts';
import { deleteTemplate, getBranding, getTemplate, putTemplate, updateBranding } from './branding.ts';
import {
  createCredential,
  deleteCredential,
  getCredential,
  listCredentials,
  updateCredential,
} from './client-credentials.ts';
import {
  createClientGrant,
  deleteClientGrant,
  getClientGrant,
  listClientGrants,
  updateClientGrant,
} from './client-grants.ts';
import { createClient, deleteClient, getClient, listClients, rotateSecret, updateClient } from './clients.ts';
import { listClientsOfConnection, listConnectionsOfClient, updateClientsOfConnection } from './connection-clients.ts';
import { createConnection, deleteConnection, getConnection, listConnections, updateConnection } from './connections.ts';
import type { Description } from './descriptions.ts';
import { deleteDeviceCredential, listDeviceCredentials } from './device-credentials.ts';
import { createEmailTemplate, getEmailTemplate, setEmailTemplate, updateEmailTemplate } from './email-templates.ts';
import { rekey } from './encryption-keys.ts';
import { deleteGrant, deleteGrantsOfUser, listGrants } from './grants.ts';
import { linkIdentity, unlinkIdentity } from './identities.ts';
import { createVerificationEmail, getJob } from './jobs.ts';
import { getLog, listLogs, listLogsOfUser } from './logs.ts';
import type { Operation } from './operation.ts';
import { getCustomText, getPrompts, putCustomText, updatePrompts } from './prompts.ts';
import {
  deleteRefreshToken,
  deleteRefreshTokensOfUser,
  getRefreshToken,
  listRefreshTokens,
  listRefreshTokensOfUser,
  revokeRefreshTokens,
} from './refresh-tokens.ts';
import { createRegistrationToken } from './registration-tokens.ts';
import {
  createResourceServer,
  deleteResourceServer,
  getResourceServer,
  listResourceServers,
  updateResourceServer,
} from './resource-servers.ts';
import { endSession, endSessions, getSession, listSessions, revokeSession } from './sessions.ts';
import { getSigningKey, listSigningKeys, revokeKey, rotateKeys } from './signing-keys.ts';
import { getActiveUsers, getDailyStats } from './stats.ts';
import { getSettings, updateSettings } from './tenant-settings.ts';
import { createEmailVerificationTicket, createPasswordChangeTicket } from './tickets.ts';
import { listBlocks, listBlocksByIdentifier, unblock, unblockByIdentifier } from './user-blocks.ts';
import {
  deleteAuthenticators,
  listAuthenticationMethods,
  listEnrollments,
  listOrganizations,
  listPermissions,
  listRoles,
} from './user-lists.ts';
import { createUser, deleteUser, getUser, listUsers, listUsersByEmail, revokeAccess, updateUser } from './users.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type Route = {
  method: Method;
  path: string;
  scopes: readonly string[];
  operation: Operation;
  /** Where it does not stand in descriptions.ts. */
  description?: Description;
};

const at = (method: Method, path: string, scopes: readonly string[], operation: Operation): Route => ({
  method,
  path,
  scopes,
  operation,
});

const credentials = '/clients/:id/credentials';
const template = '/branding/templates/universal-login';
const customText = '/prompts/:prompt/custom-text/:language';
const readClients = ['read:clients', 'read:client_keys'];
const readLogs = ['read:logs', 'read:logs_users'];

// biome-ignore format: a table
export const routes: Route[] = [
  at('get',    '/clients',                           readClients,                                listClients),
  at('post',   '/clients',                           ['create:clients'],                         createClient),
  at('get',    '/clients/:id',                       readClients,                                getClient),
  at('patch',  '/clients/:id',                       ['update:clients', 'update:client_keys'],   updateClient),
  at('delete', '/clients/:id',                       ['delete:clients'],                         deleteClient),
  at('get',    '/clients/:id/connections',           ['read:connections'],                       listConnectionsOfClient),
  at('get',    `${credentials}`,                     ['read:client_credentials'],                listCredentials),
  at('post',   `${credentials}`,                     ['create:client_credentials'],              createCredential),
  at('get',    `${credentials}/:credential_id`,      ['read:client_credentials'],                getCredential),
  at('patch',  `${credentials}/:credential_id`,      ['update:client_credentials'],              updateCredential),
  at('delete', `${credentials}/:credential_id`,      ['delete:client_credentials'],              deleteCredential),
  at('post',   '/clients/:id/rotate-secret',         ['update:client_keys'],                     rotateSecret),

  at('get',    '/client-grants',                     ['read:client_grants'],                     listClientGrants),
  at('post',   '/client-grants',                     ['create:client_grants'],                   createClientGrant),
  at('get',    '/client-grants/:id',                 ['read:client_grants'],                     getClientGrant),
  at('patch',  '/client-grants/:id',                 ['update:client_grants'],                   updateClientGrant),
  at('delete', '/client-grants/:id',                 ['delete:client_grants'],                   deleteClientGrant),

  at('get',    '/resource-servers',                  ['read:resource_servers'],                  listResourceServers),
  at('post',   '/resource-servers',                  ['create:resource_servers'],                createResourceServer),
  at('get',    '/resource-servers/:id',              ['read:resource_servers'],                  getResourceServer),
  at('patch',  '/resource-servers/:id',              ['update:resource_servers'],                updateResourceServer),
  at('delete', '/resource-servers/:id',              ['delete:resource_servers'],                deleteResourceServer),

  at('get',    '/users',                             ['read:users'],                             listUsers),
  at('post',   '/users',                             ['create:users'],                           createUser),
  at('get',    '/users/:id',                         ['read:users'],                             getUser),
  at('patch',  '/users/:id',                         ['update:users'],                           updateUser),
  at('delete', '/users/:id',                         ['delete:users'],                           deleteUser),
  at('get',    '/users/:id/logs',                    readLogs,                                   listLogsOfUser),
  at('post',   '/users/:id/revoke-access',           ['delete:users', 'update:users'],           revokeAccess),
  at('post',   '/users/:id/identities',              ['update:users'],                           linkIdentity),
  at('delete', '/users/:id/identities/:provider/:user_id', ['update:users'],                     unlinkIdentity),
  at('get',    '/users/:id/sessions',                ['read:sessions'],                          listSessions),
  at('delete', '/users/:id/sessions',                ['delete:sessions'],                        endSessions),
  at('get',    '/users/:id/refresh-tokens',          ['read:refresh_tokens'],                    listRefreshTokensOfUser),
  at('delete', '/users/:id/refresh-tokens',          ['delete:refresh_tokens'],                  deleteRefreshTokensOfUser),
  at('get',    '/users/:id/roles',                   ['read:users'],                             listRoles),
  at('get',    '/users/:id/permissions',             ['read:users'],                             listPermissions),
  at('get',    '/users/:id/organizations',           ['read:organizations', 'read:users'],       listOrganizations),
  at('get',    '/users/:id/authentication-methods',  ['read:users'],                             listAuthenticationMethods),
  at('delete', '/users/:id/authenticators',          ['update:users'],                           deleteAuthenticators),
  at('get',    '/users/:id/enrollments',             ['read:users'],                             listEnrollments),
  at('get',    '/users-by-email',                    ['read:users'],                             listUsersByEmail),

  at('get',    '/user-blocks',                       ['read:users'],                             listBlocksByIdentifier),
  at('delete', '/user-blocks',                       ['update:users'],                           unblockByIdentifier),
  at('get',    '/user-blocks/:id',                   ['read:users'],                             listBlocks),
  at('delete', '/user-blocks/:id',                   ['update:users'],                           unblock),

  at('get',    '/sessions/:id',                      ['read:sessions'],                          getSession),
  at('delete', '/sessions/:id',                      ['delete:sessions'],                        endSession),
  at('post',   '/sessions/:id/revoke',               ['delete:sessions'],                        revokeSession),

  at('get',    '/refresh-tokens',                    ['read:refresh_tokens'],                    listRefreshTokens),
  at('post',   '/refresh-tokens/revoke',             ['delete:refresh_tokens'],                  revokeRefreshTokens),
  at('get',    '/refresh-tokens/:id',                ['read:refresh_tokens'],                    getRefreshToken),
  at('delete', '/refresh-tokens/:id',                ['delete:refresh_tokens'],                  deleteRefreshToken),

  at('get',    '/stats/active-users',                ['read:stats'],                             getActiveUsers),
  at('get',    '/stats/daily',                       ['read:stats'],                             getDailyStats),

  at('get',    '/connections',                       ['read:connections'],                       listConnections),
  at('post',   '/connections',                       ['create:connections'],                     createConnection),
  at('get',    '/connections/:id',                   ['read:connections'],                       getConnection),
  at('patch',  '/connections/:id',                   ['update:connections'],                     updateConnection),
  at('get',    '/connections/:id/clients',           ['read:connections'],                       listClientsOfConnection),
  at('patch',  '/connections/:id/clients',           ['update:connections'],                     updateClientsOfConnection),
  at('delete', '/connections/:id',                   ['delete:connections'],                     deleteConnection),

  at('get',    '/device-credentials',                ['read:device_credentials'],                listDeviceCredentials),
  at('delete', '/device-credentials/:id',            ['delete:device_credentials'],              deleteDeviceCredential),

  at('get',    '/grants',                            ['read:grants'],                            listGrants),
  at('delete', '/grants',                            ['delete:grants'],                          deleteGrantsOfUser),
  at('delete', '/grants/:id',                        ['delete:grants'],                          deleteGrant),

  at('get',    '/logs',                              readLogs,                                   listLogs),
  at('get',    '/logs/:id',                          readLogs,                                   getLog),

  at('get',    '/branding',                          ['read:branding'],                          getBranding),
  at('patch',  '/branding',                          ['update:branding'],                        updateBranding),
  at('get',    template,                             ['read:branding'],                          getTemplate),
  at('put',    template,                             ['update:branding'],                        putTemplate),
  at('delete', template,                             ['delete:branding'],                        deleteTemplate),

  at('post',   '/tickets/email-verification',        ['create:user_tickets'],                    createEmailVerificationTicket),
  at('post',   '/tickets/password-change',           ['create:user_tickets'],                    createPasswordChangeTicket),
  at('post',   '/jobs/verification-email',           ['update:users'],                           createVerificationEmail),
  at('get',    '/jobs/:id',                          ['create:users', 'read:users'],             getJob),

  at('post',   '/email-templates',                   ['create:email_templates'],                 createEmailTemplate),
  at('get',    '/email-templates/:id',               ['read:email_templates'],                   getEmailTemplate),
  at('put',    '/email-templates/:id',               ['update:email_templates'],                 setEmailTemplate),
  at('patch',  '/email-templates/:id',               ['update:email_templates'],                 updateEmailTemplate),

  at('get',    '/prompts',                           ['read:prompts'],                           getPrompts),
  at('patch',  '/prompts',                           ['update:prompts'],                         updatePrompts),
  at('get',    customText,                           ['read:prompts'],                           getCustomText),
  at('put',    customText,                           ['update:prompts'],                         putCustomText),

  at('get',    '/tenants/settings',                  ['read:tenant_settings'],                   getSettings),
  at('patch',  '/tenants/settings',                  ['update:tenant_settings'],                 updateSettings),

  at('get',    '/keys/signing',                      ['read:signing_keys'],                      listSigningKeys),
  at('post',   '/keys/signing/rotate',               ['update:signing_keys'],                    rotateKeys),
  at('get',    '/keys/signing/:kid',                 ['read:signing_keys'],                      getSigningKey),
  at('put',    '/keys/signing/:kid/revoke',          ['update:signing_keys'],                    revokeKey),

  at('post',   '/keys/encryption/rekey',             ['update:encryption_keys'],                 rekey),

  at('post',   '/registration-tokens',               ['create:registration_tokens'],             createRegistrationToken),

  ...absentRoutes,
];
