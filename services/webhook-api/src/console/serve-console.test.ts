import { expect, test } from '@jest/globals';
import { withSettings } from './serve-console.ts';

// It sent people to http://localhost:4400authorize.
test.each(['http://localhost:4400', 'http://localhost:4400/'])(
  'the console finds the pages of a gate named %s',
  (issuer) => {
    const page = '<meta name="gatepost" content="" />';
    expect(withSettings(page, { issuer, clientId: 'console', audience: 'hooks' })).toBe(
      '<meta name="gatepost" content="{&quot;issuer&quot;:&quot;http://localhost:4400/&quot;,&quot;client_id&quot;:&quot;console&quot;,&quot;audience&quot;:&quot;hooks&quot;}" />',
    );
  },
);
