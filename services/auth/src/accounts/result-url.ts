/** Where a used link leads on to, and what that address is told (Auth0: "Email Template Descriptions", redirect to results). */

const messages = {
  verified: 'Your email was verified. You can continue using the application.',
  changed: 'You can now login to the application with the new password.',
  used: 'This URL can be used only once',
  expired: 'Access expired.',
  invalid: 'User account does not exist or verification code is invalid.',
};

export function withResult(
  { resultUrl, email, includeEmail = true }: { resultUrl: string; email: string; includeEmail?: boolean },
  result: keyof typeof messages,
): string {
  const url = new URL(resultUrl);
  const isSuccess = result === 'verified' || result === 'changed';
  const given = {
    supportSignUp: 'true',
    supportForgotPassword: 'true',
    // A link that no longer works does not reveal whose it was.
    ...(isSuccess && includeEmail && email && { email }),
    message: messages[result],
    success: String(isSuccess),
    ...(isSuccess && { code: 'success' }),
  };
  // Spaces encoded as Auth0 does.
  const query = Object.entries(given).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  url.search = [url.search.slice(1), ...query].filter(Boolean).join('&');
  return url.href;
}
