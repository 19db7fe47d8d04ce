/** Passwords that everybody tries first. Those shorter than our minimum need not stand here. */
const common = new Set(
  `password password1 password12 password123 password1234 passw0rd passw0rd1 p@ssw0rd p@ssword 12345678 123456789 1234567890
  123123123 11111111 111111111 00000000 88888888 87654321 987654321 0123456789 1q2w3e4r 1q2w3e4r5t 1qaz2wsx qwertyuiop qwerty123
  qwerty12 qwerty1234 qwertyui asdfghjk asdfghjkl zxcvbnm1 zxcvbnm123 abc12345 abcd1234 abcdefgh abcdefg1 iloveyou iloveyou1
  sunshine princess football baseball superman starwars trustno1 whatever computer internet samsung1 michelle jennifer jonathan
  welcome1 welcome123 letmein1 letmein123 changeme changeme1 changeme123 administrator admin123 admin1234 default1 secret123
  monkey123 dragon123 master123 shadow123 charlie1 liverpool chocolate basketball elephant corvette mercedes maverick midnight
  test1234 testtest user1234 guest123 hello123 hellohello lovelove 12341234 11223344 12121212 66666666 99999999 77777777`.split(
    /\s+/,
  ),
);

export function isCommonPassword(password: string): boolean {
  return common.has(password.normalize('NFKC').toLowerCase());
}
