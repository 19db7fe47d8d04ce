/** The mails and text messages in Portuguese. */
import type { MailStrings } from './en.ts';

export const pt: MailStrings = {
  verify_email: {
    subject: 'Confirme o seu endereço de e-mail',
    title: 'Confirme o seu endereço de e-mail',
    lead: 'Uma conta de {application} foi criada com o endereço {email}. Confirme que ele é seu.',
    action: 'Confirmar endereço',
    expiry: 'O link só funciona uma vez e expira em {time}.',
    otherwise: 'Se não criou uma conta, ignore esta mensagem e não abra o link.',
  },
  reset_email: {
    subject: 'Altere a sua senha de {application}',
    title: 'Escolha uma nova senha',
    lead: 'Alguém pediu para alterar a senha da sua conta de {application}.',
    action: 'Escolher senha',
    expiry: 'O link só funciona uma vez e expira em {time}.',
    otherwise: 'Se não foi você, ignore esta mensagem: nada mudou.',
  },
  welcome_email: {
    subject: 'Boas-vindas a {application}',
    title: 'Boas-vindas a {application}',
    lead: 'A sua conta com o endereço {email} está pronta.',
    action: 'Abrir {application}',
    expiry: '',
    otherwise: '',
  },
  user_invitation: {
    subject: 'Convite para {organization}',
    title: 'Recebeu um convite',
    lead: '{inviter} convida-o a juntar-se a {organization} em {application}.',
    action: 'Aceitar o convite',
    expiry: 'O link só funciona uma vez e expira em {time}.',
    otherwise: 'Se não o esperava, ignore esta mensagem.',
  },
  login_link: {
    subject: 'Entre em {application}',
    title: 'Entre em {application}',
    lead: 'Abra este link no navegador em que o pediu.',
    action: 'Entrar',
    expiry: 'O link só funciona uma vez e expira em {time}.',
    otherwise: 'Se não o pediu, ignore esta mensagem.',
  },
  auth_email_by_code: {
    subject: 'O seu código de {application}',
    title: 'O seu código',
    lead: 'Digite-o para continuar em {application}.',
    action: '',
    expiry: 'Ele expira em {time}.',
    otherwise: 'Se não o pediu, ignore esta mensagem.',
  },
  codeSentence: 'O seu código de {application} é {code}. Ele expira em {time}.',
  copy: 'Se o botão não funcionar, copie este endereço para o navegador:',
  support: 'Ajuda',
};
