/** Where a link leads on to when it was used, and what that is told (Auth0: "Email Template Descriptions", redirect to results). */

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
    // Of a link that no longer works nobody learns whose it was.
    ...(isSuccess && includeEmail && email && { email }),
    message: messages[result],
    success: String(isSuccess),
    ...(isSuccess && { code: 'success' }),
  };
  // Spaces as Auth0 writes them.
  const query = Object.entries(given).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  url.search = [url.search.slice(1), ...query].filter(Boolean).join('&');
  return url.href;
}
