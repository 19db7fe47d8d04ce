import { auth0 } from './lib/auth0';

// Serves /auth/login, /auth/callback and /auth/logout, and keeps the session alive.
export const proxy = (request) => auth0.middleware(request);

export const config = { matcher: ['/((?!_next/static|_next/image|favicon.ico).*)'] };
