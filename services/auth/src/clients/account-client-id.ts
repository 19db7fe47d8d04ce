/** The client id under which the pages below `/account` are an application (self-service/client.ts). */
export const accountClientId = 'gatepost-account';
