/** The secrets in `infra/demo/seed.yaml`, which are public: nothing reachable by others may use them. */
import { Misconfigured } from '@gatepost/runtime/misconfigured';
import type { Seed } from './seed.ts';

export const demoSecrets = {
  clientSecrets: [
    'demo-web-secret',
    'demo-m2m-secret',
    'demo-trusted-secret',
    'example-express-secret',
    'example-nextjs-secret',
    'example-fastapi-secret',
    'example-go-secret',
    'example-spring-secret',
    'demo-admin-secret',
  ],
  passwords: [
    { user_id: 'auth0|admin', password: 'correct horse battery staple' },
    { user_id: 'auth0|alice', password: 'correct horse battery staple' },
  ],
};

/** For production. @throws Misconfigured naming each place in the file that holds a demo secret. */
export function refuseDemo(seed: Seed): void {
  const publicSecret = 'is the demo’s, which everybody knows: not in production';
  const passwords = demoSecrets.passwords.map(({ password }) => password);
  const problems = [
    ...seed.clients.flatMap(({ client_secret: secret }, index) =>
      secret !== undefined && demoSecrets.clientSecrets.includes(secret)
        ? [`clients[${index}].client_secret: ${publicSecret}`]
        : [],
    ),
    ...seed.users.flatMap(({ password }, index) =>
      password !== undefined && passwords.includes(password) ? [`users[${index}].password: ${publicSecret}`] : [],
    ),
  ];
  if (problems.length > 0) throw new Misconfigured('bad seed file', problems);
}
