import { auth0 } from '../lib/auth0';

export default async function Home() {
  const session = await auth0.getSession();
  if (!session) return <a href="/auth/login">Log in</a>;
  return (
    <>
      <p>
        Signed in as {session.user.name}. <a href="/auth/logout">Log out</a>
      </p>
      <a href="/hooks">List the hooks of acme/widgets</a>
    </>
  );
}
