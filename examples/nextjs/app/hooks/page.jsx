import { redirect } from 'next/navigation';
import { auth0 } from '../../lib/auth0';

/** Calls the webhook API as the person who is signed in. The token never reaches the browser. */
export default async function Hooks() {
  if (!(await auth0.getSession())) redirect('/auth/login?returnTo=/hooks');
  const { token } = await auth0.getAccessToken();
  const answer = await fetch('http://localhost:4500/repos/acme/widgets/hooks', {
    headers: { authorization: `Bearer ${token}`, 'user-agent': 'quick-start' },
  });
  return <pre>{`${answer.status} ${JSON.stringify(await answer.json(), null, 2)}`}</pre>;
}
