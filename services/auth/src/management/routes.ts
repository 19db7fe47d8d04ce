/** Every route of the management API: method, path below `api/v2`, the scopes (any one suffices), and its operation. */

import { absentRoutes } from './absent.ts';
import { listBindings, listTriggers, updateBindings } from './action-triggers.ts';
import {
  createAction,
  deleteAction,
  deployAction,
  deployActionVersion,
  getAction,
  getActionVersion,
  getExecution,
  listActions,
  listActionVersions,
  testAction,
  updateAction,
} from './actions.ts';
import { getProtection, updateProtection } from './attack-protection.ts';
import {
  createAuthenticationMethod,
  deleteAuthenticationMethod,
  deleteAuthenticationMethods,
  deleteMultifactor,
  getAuthenticationMethod,
  invalidateRememberedBrowsers,
  listAuthenticationMethods,
  listEnrollments,
  regenerateRecoveryCodes,
  replaceAuthenticationMethods,
  updateAuthenticationMethod,
} from './authentication-methods.ts';
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
import { listFactors, listPolicies, setFactor, setPolicies } from './guardian.ts';
import { linkIdentity, unlinkIdentity } from './identities.ts';
import { createVerificationEmail, getJob } from './jobs.ts';
import { getLog, listLogs, listLogsOfUser } from './logs.ts';
import { createMailPreview } from './mail-previews.ts';
import type { Operation } from './operation.ts';
import { createInvitation, deleteInvitation, getInvitation, listInvitations } from './organization-invitations.ts';
import {
  addMembers,
  assignRolesToMember,
  listMembers,
  listRolesOfMember,
  removeMembers,
  removeRolesFromMember,
} from './organization-members.ts';
import {
  addConnectionToOrganization,
  createOrganization,
  deleteOrganization,
  getConnectionOfOrganization,
  getOrganization,
  getOrganizationByName,
  listConnectionsOfOrganization,
  listEnabledConnections,
  listOrganizations,
  listOrganizationsOfUser,
  removeConnectionFromOrganization,
  updateConnectionOfOrganization,
  updateOrganization,
} from './organizations.ts';
import { createPreview, listPreviews } from './previews.ts';
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
import {
  addPermissionsToRole,
  assignRoleToUsers,
  createRole,
  deleteRole,
  getRole,
  listPermissionsOfRole,
  listRoles,
  listUsersOfRole,
  removePermissionsFromRole,
  updateRole,
} from './roles.ts';
import { endSession, endSessions, getSession, listSessions, revokeAccess, revokeSession } from './sessions.ts';
import { getSigningKey, listSigningKeys, revokeKey, rotateKeys } from './signing-keys.ts';
import { getActiveUsers, getDailyStats } from './stats.ts';
import { getSettings, updateSettings } from './tenant-settings.ts';
import { createEmailVerificationTicket, createPasswordChangeTicket } from './tickets.ts';
import { listBlocks, listBlocksByIdentifier, unblock, unblockByIdentifier } from './user-blocks.ts';
import {
  addPermissionsToUser,
  assignRolesToUser,
  listPermissionsOfUser,
  listRolesOfUser,
  removePermissionsFromUser,
  removeRolesFromUser,
} from './user-roles.ts';
import { createUser, deleteUser, getUser, listUsers, listUsersByEmail, updateUser } from './users.ts';
import { createUsersExport } from './users-exports.ts';
import { createUsersImport, listJobErrors } from './users-imports.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type Route = {
  method: Method;
  path: string;
  scopes: readonly string[];
  operation: Operation;
  /** Set if it is not in descriptions.ts. */
  description?: Description;
};

const at = (method: Method, path: string, scopes: readonly string[], operation: Operation): Route => ({
  method,
  path,
  scopes,
  operation,
});

const action = '/actions/actions/:id';
const credentials = '/clients/:id/credentials';
const connected = '/organizations/:id/connections';
const enabled = '/organizations/:id/enabled_connections';
const invitations = '/organizations/:id/invitations';
const members = '/organizations/:id/members';
const template = '/branding/templates/universal-login';
const customText = '/prompts/:prompt/custom-text/:language';
const methods = '/users/:id/authentication-methods';
const multifactor = '/users/:id/multifactor';
const readMethods = ['read:users', 'read:authentication_methods'];
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
  at('get',    '/users/:id/roles',                   ['read:users', 'read:roles'],               listRolesOfUser),
  at('post',   '/users/:id/roles',                   ['update:users'],                           assignRolesToUser),
  at('delete', '/users/:id/roles',                   ['update:users'],                           removeRolesFromUser),
  at('get',    '/users/:id/permissions',             ['read:users'],                             listPermissionsOfUser),
  at('post',   '/users/:id/permissions',             ['update:users'],                           addPermissionsToUser),
  at('delete', '/users/:id/permissions',             ['update:users'],                           removePermissionsFromUser),
  at('get',    '/users/:id/organizations',           ['read:organizations', 'read:users'],       listOrganizationsOfUser),
  at('get',    methods,                              readMethods,                                listAuthenticationMethods),
  at('post',   methods,                              ['create:authentication_methods'],          createAuthenticationMethod),
  at('put',    methods,                              ['update:authentication_methods'],          replaceAuthenticationMethods),
  at('delete', methods,                              ['delete:authentication_methods'],          deleteAuthenticationMethods),
  at('get',    `${methods}/:method_id`,              readMethods,                                getAuthenticationMethod),
  at('patch',  `${methods}/:method_id`,              ['update:authentication_methods'],          updateAuthenticationMethod),
  at('delete', `${methods}/:method_id`,              ['delete:authentication_methods'],          deleteAuthenticationMethod),
  at('delete', '/users/:id/authenticators',          ['update:users'],                           deleteAuthenticationMethods),
  at('post',   `${multifactor}/actions/invalidate-remember-browser`, ['update:users'],           invalidateRememberedBrowsers),
  at('delete', `${multifactor}/:provider`,           ['update:users'],                           deleteMultifactor),
  at('post',   '/users/:id/recovery-code-regeneration', ['update:users'],                        regenerateRecoveryCodes),
  at('get',    '/users/:id/enrollments',             ['read:users'],                             listEnrollments),
  at('get',    '/users-by-email',                    ['read:users'],                             listUsersByEmail),

  at('get',    '/roles',                             ['read:roles'],                             listRoles),
  at('post',   '/roles',                             ['create:roles'],                           createRole),
  at('get',    '/roles/:id',                         ['read:roles'],                             getRole),
  at('patch',  '/roles/:id',                         ['update:roles'],                           updateRole),
  at('delete', '/roles/:id',                         ['delete:roles'],                           deleteRole),
  at('get',    '/roles/:id/permissions',             ['read:roles'],                             listPermissionsOfRole),
  at('post',   '/roles/:id/permissions',             ['update:roles'],                           addPermissionsToRole),
  at('delete', '/roles/:id/permissions',             ['update:roles'],                           removePermissionsFromRole),
  at('get',    '/roles/:id/users',                   ['read:users', 'read:roles'],               listUsersOfRole),
  at('post',   '/roles/:id/users',                   ['update:roles'],                           assignRoleToUsers),

  at('get',    '/actions/triggers',                  ['read:actions'],                           listTriggers),
  at('get',    '/actions/triggers/:trigger_id/bindings', ['read:actions'],                       listBindings),
  at('patch',  '/actions/triggers/:trigger_id/bindings', ['update:actions'],                     updateBindings),
  at('get',    '/actions/actions',                   ['read:actions'],                           listActions),
  at('post',   '/actions/actions',                   ['create:actions'],                         createAction),
  at('get',    `${action}`,                          ['read:actions'],                           getAction),
  at('patch',  `${action}`,                          ['update:actions'],                         updateAction),
  at('delete', `${action}`,                          ['delete:actions'],                         deleteAction),
  at('post',   `${action}/deploy`,                   ['create:actions'],                         deployAction),
  at('post',   `${action}/test`,                     ['create:actions'],                         testAction),
  at('get',    `${action}/versions`,                 ['read:actions'],                           listActionVersions),
  at('get',    `${action}/versions/:version_id`,     ['read:actions'],                           getActionVersion),
  at('post',   `${action}/versions/:version_id/deploy`, ['create:actions'],                      deployActionVersion),
  at('get',    '/actions/executions/:id',            ['read:actions'],                           getExecution),

  at('get',    '/organizations',                     ['read:organizations'],                     listOrganizations),
  at('post',   '/organizations',                     ['create:organizations'],                   createOrganization),
  at('get',    '/organizations/name/:name',          ['read:organizations'],                     getOrganizationByName),
  at('get',    '/organizations/:id',                 ['read:organizations'],                     getOrganization),
  at('patch',  '/organizations/:id',                 ['update:organizations'],                   updateOrganization),
  at('delete', '/organizations/:id',                 ['delete:organizations'],                   deleteOrganization),
  at('get',    `${enabled}`,                         ['read:organization_connections', 'read:organizations'], listEnabledConnections),
  at('post',   `${enabled}`,                         ['create:organization_connections'],        addConnectionToOrganization),
  at('get',    `${enabled}/:connection_id`,          ['read:organization_connections', 'read:organizations'], getConnectionOfOrganization),
  at('patch',  `${enabled}/:connection_id`,          ['update:organization_connections'],        updateConnectionOfOrganization),
  at('delete', `${enabled}/:connection_id`,          ['delete:organization_connections'],        removeConnectionFromOrganization),
  at('get',    connected,                            ['read:organization_connections', 'read:organizations'], listConnectionsOfOrganization),
  at('post',   connected,                            ['create:organization_connections'],        addConnectionToOrganization),
  at('get',    `${connected}/:connection_id`,        ['read:organization_connections', 'read:organizations'], getConnectionOfOrganization),
  at('patch',  `${connected}/:connection_id`,        ['update:organization_connections'],        updateConnectionOfOrganization),
  at('delete', `${connected}/:connection_id`,        ['delete:organization_connections'],        removeConnectionFromOrganization),
  at('get',    members,                              ['read:organization_members'],              listMembers),
  at('post',   members,                              ['create:organization_members'],            addMembers),
  at('delete', members,                              ['delete:organization_members'],            removeMembers),
  at('get',    invitations,                          ['read:organization_invitations'],          listInvitations),
  at('post',   invitations,                          ['create:organization_invitations'],        createInvitation),
  at('get',    `${invitations}/:invitation_id`,      ['read:organization_invitations'],          getInvitation),
  at('delete', `${invitations}/:invitation_id`,      ['delete:organization_invitations'],        deleteInvitation),
  at('get',    `${members}/:user_id/roles`,          ['read:organization_member_roles'],         listRolesOfMember),
  at('post',   `${members}/:user_id/roles`,          ['create:organization_member_roles'],       assignRolesToMember),
  at('delete', `${members}/:user_id/roles`,          ['delete:organization_member_roles'],       removeRolesFromMember),

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

  at('get',    '/attack-protection/bot-detection',               ['read:attack_protection'],   getProtection('bot-detection')),
  at('patch',  '/attack-protection/bot-detection',               ['update:attack_protection'], updateProtection('bot-detection')),
  at('get',    '/attack-protection/breached-password-detection', ['read:attack_protection'], getProtection('breached-password-detection')),
  at('patch',  '/attack-protection/breached-password-detection', ['update:attack_protection'], updateProtection('breached-password-detection')),
  at('get',    '/attack-protection/brute-force-protection',   ['read:attack_protection'],   getProtection('brute-force-protection')),
  at('patch',  '/attack-protection/brute-force-protection',   ['update:attack_protection'], updateProtection('brute-force-protection')),
  at('get',    '/attack-protection/suspicious-ip-throttling', ['read:attack_protection'],   getProtection('suspicious-ip-throttling')),
  at('patch',  '/attack-protection/suspicious-ip-throttling', ['update:attack_protection'], updateProtection('suspicious-ip-throttling')),

  at('get',    '/guardian/factors',                  ['read:guardian_factors'],                  listFactors),
  at('put',    '/guardian/factors/:id',              ['update:guardian_factors'],                setFactor),
  at('get',    '/guardian/policies',                 ['read:mfa_policies'],                      listPolicies),
  at('put',    '/guardian/policies',                 ['update:mfa_policies'],                    setPolicies),

  at('get',    '/logs',                              readLogs,                                   listLogs),
  at('get',    '/logs/:id',                          readLogs,                                   getLog),

  at('get',    '/branding',                          ['read:branding'],                          getBranding),
  at('patch',  '/branding',                          ['update:branding'],                        updateBranding),
  at('get',    template,                             ['read:branding'],                          getTemplate),
  at('put',    template,                             ['update:branding'],                        putTemplate),
  at('delete', template,                             ['delete:branding'],                        deleteTemplate),
  at('get',    '/branding/previews',                 ['read:branding'],                          listPreviews),
  at('post',   '/branding/previews',                 ['update:branding'],                        createPreview),

  at('post',   '/tickets/email-verification',        ['create:user_tickets'],                    createEmailVerificationTicket),
  at('post',   '/tickets/password-change',           ['create:user_tickets'],                    createPasswordChangeTicket),
  at('post',   '/jobs/verification-email',           ['update:users'],                           createVerificationEmail),
  at('post',   '/jobs/users-exports',                ['read:users'],                             createUsersExport),
  at('post',   '/jobs/users-imports',                ['create:users'],                           createUsersImport),
  at('get',    '/jobs/:id',                          ['create:users', 'read:users'],             getJob),
  at('get',    '/jobs/:id/errors',                   ['create:users', 'read:users'],             listJobErrors),

  at('post',   '/email-templates',                   ['create:email_templates'],                 createEmailTemplate),
  at('get',    '/email-templates/:id',               ['read:email_templates'],                   getEmailTemplate),
  at('put',    '/email-templates/:id',               ['update:email_templates'],                 setEmailTemplate),
  at('patch',  '/email-templates/:id',               ['update:email_templates'],                 updateEmailTemplate),
  at('post',   '/email-templates/:id/previews',      ['update:email_templates'],                 createMailPreview),

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
