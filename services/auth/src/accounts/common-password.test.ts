import { expect, test } from '@jest/globals';
import { isCommonPassword } from './common-password.ts';
import { passwordProblem } from './signup.ts';

test.each([
  'password',
  'PassWord1',
  ' 12345678 ',
  'ｐａｓｓｗｏｒｄ',
  'qwertyuiop',
  'iloveyou!',
  'mustang1',
  'homepage-',
  'letmein123',
])('%j is refused as a common password', (password) => {
  expect(isCommonPassword(password)).toBe(true);
  expect(passwordProblem(password, 'a@b.example')).toBe('password_too_common');
});

test.each(['correct horse battery staple', 'passwort-der-tante', 'ssword1x', 'password\n12345678'])(
  '%j is not a common password',
  (password) => {
    expect(passwordProblem(password, 'a@b.example')).toBeUndefined();
  },
);
