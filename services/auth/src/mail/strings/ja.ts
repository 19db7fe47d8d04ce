/** The mails and text messages in Japanese. */
import type { MailStrings } from './en.ts';

export const ja: MailStrings = {
  verify_email: {
    subject: 'メールアドレスの確認',
    title: 'メールアドレスを確認してください',
    lead: '{email} で {application} のアカウントが作成されました。ご自身のアドレスであることを確認してください。',
    action: 'アドレスを確認する',
    expiry: 'リンクの有効期間は{time}で、使えるのは一度だけです。',
    otherwise: 'アカウントを作成した覚えがない場合は、リンクを開かずにこのメールを無視してください。',
  },
  reset_email: {
    subject: '{application} のパスワードの変更',
    title: '新しいパスワードの設定',
    lead: '{application} アカウントのパスワードを変更するリクエストを受け付けました。',
    action: 'パスワードを設定する',
    expiry: 'リンクの有効期間は{time}で、使えるのは一度だけです。',
    otherwise: 'お心当たりがない場合は、このメールを無視してください。変更は行われていません。',
  },
  welcome_email: {
    subject: '{application} へようこそ',
    title: '{application} へようこそ',
    lead: '{email} のアカウントの準備ができました。',
    action: '{application} を開く',
    expiry: '',
    otherwise: '',
  },
  blocked_account: {
    subject: '{application} へのログインの失敗が続いています',
    title: 'アカウントへのログインを一時停止しました',
    lead: 'あなたの {application} アカウントに対して、誤ったパスワードが何度も入力されました。その接続元からのログインをしばらく停止しています。',
    action: '新しいパスワードを選ぶ',
    expiry: 'リンクの有効期間は{time}で、使えるのは一度だけです。',
    otherwise:
      'ご本人であれば、しばらく待つか新しいパスワードを選んでください。そうでない場合も、パスワードは知られていません。',
  },
  stolen_credentials: {
    subject: '{application} のパスワードが他人に知られています',
    title: '新しいパスワードを選んでください',
    lead: 'あなたの {application} アカウントのパスワードが、他のサービスの情報漏えいに含まれていました。他人に知られている可能性があります。',
    action: '新しいパスワードを選ぶ',
    expiry: 'リンクの有効期間は{time}で、使えるのは一度だけです。',
    otherwise: '同じパスワードを使っている他のサービスでも変更してください。',
  },
  user_invitation: {
    subject: '{organization} への招待',
    title: '招待が届いています',
    lead: '{inviter} さんから {application} の {organization} に招待されました。',
    action: '招待を受ける',
    expiry: 'リンクの有効期間は{time}で、使えるのは一度だけです。',
    otherwise: 'お心当たりがない場合は、このメールを無視してください。',
  },
  login_link: {
    subject: '{application} へのログイン',
    title: '{application} へのログイン',
    lead: 'ログインを始めたブラウザーで、このリンクを開いてください。',
    action: 'ログインする',
    expiry: 'リンクの有効期間は{time}で、使えるのは一度だけです。',
    otherwise: 'お心当たりがない場合は、このメールを無視してください。',
  },
  auth_email_by_code: {
    subject: '{application} の認証コード',
    title: '認証コード',
    lead: 'このコードを入力して、{application} に進んでください。',
    action: '',
    expiry: 'コードの有効期間は{time}です。',
    otherwise: 'お心当たりがない場合は、このメールを無視してください。',
  },
  codeSentence: '{application} の認証コードは {code} です。有効期間は{time}です。',
  copy: 'ボタンが使えない場合は、次のアドレスをブラウザーにコピーしてください。',
  support: 'ヘルプ',
};
