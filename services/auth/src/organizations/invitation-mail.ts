/** The mail with an invitation's link. */
import type { Background } from '../background.ts';
import type { OrganizationModel } from '../generated/models.ts';
import type { Letters } from '../mail/letters.ts';
import type { PostBox } from '../mail/post-box.ts';
import { organizationForTemplates } from './for-templates.ts';

export type SendInvitation = (invitation: {
  email: string;
  clientId: string;
  connection: string;
  organization: OrganizationModel;
  inviter: string;
  url: string;
  ttlSeconds: number;
}) => Promise<'accepted' | 'disabled' | 'busy'>;

/** Sends it after the answer, unless the tenant has disabled that template. */
export function makeSendInvitation(parts: {
  letters: Letters;
  postBox: PostBox;
  background: Pick<Background, 'mail'>;
}): SendInvitation {
  const { letters, postBox, background } = parts;
  return async ({ email, clientId, connection, organization, inviter, url, ttlSeconds }) => {
    if (!(await letters.linkRules('user_invitation', clientId)).isSent) return 'disabled';
    const invitation = { organization: organizationForTemplates(organization), inviter };
    const letter = { email, account: undefined, connection, clientId, languages: {}, url, ttlSeconds, invitation };
    const work = async () =>
      postBox.sendMail({ to: email, ...(await letters.write({ name: 'user_invitation', ...letter })) });
    return background.mail.add('an invitation', work) ? 'accepted' : 'busy';
  };
}
