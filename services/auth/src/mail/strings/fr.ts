/** The mails and text messages in French. */
import type { MailStrings } from './en.ts';

export const fr: MailStrings = {
  verify_email: {
    subject: 'Confirmez votre adresse e-mail',
    title: 'Confirmez votre adresse e-mail',
    lead: 'Un compte {application} a été créé avec l’adresse {email}. Confirmez qu’il s’agit bien de la vôtre.',
    action: 'Confirmer l’adresse',
    expiry: 'Ce lien ne peut servir qu’une fois et expire dans {time}.',
    otherwise: 'Si vous n’avez pas créé de compte, ignorez ce message et n’ouvrez pas le lien.',
  },
  reset_email: {
    subject: 'Changez votre mot de passe {application}',
    title: 'Choisissez un nouveau mot de passe',
    lead: 'Quelqu’un a demandé à changer le mot de passe de votre compte {application}.',
    action: 'Choisir un mot de passe',
    expiry: 'Ce lien ne peut servir qu’une fois et expire dans {time}.',
    otherwise: 'Si ce n’était pas vous, ignorez ce message : rien n’a changé.',
  },
  welcome_email: {
    subject: 'Bienvenue sur {application}',
    title: 'Bienvenue sur {application}',
    lead: 'Votre compte associé à {email} est prêt.',
    action: 'Ouvrir {application}',
    expiry: '',
    otherwise: '',
  },
  blocked_account: {
    subject: 'Trop de connexions échouées à {application}',
    title: 'Les connexions à votre compte ont été suspendues',
    lead: 'Quelqu’un a essayé de nombreuses fois de se connecter à votre compte {application} avec des mots de passe ou des codes erronés. Nous avons suspendu ces tentatives pour un moment.',
    action: 'Choisir un nouveau mot de passe',
    expiry: 'Ce lien ne peut servir qu’une fois et expire dans {time}.',
    otherwise:
      'Si c’était vous, attendez un peu ou choisissez un nouveau mot de passe. Sinon, votre mot de passe n’a pas été découvert.',
  },
  stolen_credentials: {
    subject: 'Votre mot de passe {application} est connu d’autres personnes',
    title: 'Choisissez un nouveau mot de passe',
    lead: 'Le mot de passe de votre compte {application} figure dans une fuite de données survenue ailleurs : d’autres personnes peuvent le connaître.',
    action: 'Choisir un nouveau mot de passe',
    expiry: 'Ce lien ne peut servir qu’une fois et expire dans {time}.',
    otherwise: 'Changez-le aussi partout ailleurs où vous l’utilisez.',
  },
  email_changed: {
    subject: 'Votre adresse e-mail {application} a été modifiée',
    title: 'Votre adresse e-mail a été modifiée',
    lead: 'L’adresse e-mail de votre compte {application} n’est plus {email}. Elle a été modifiée par quelqu’un qui était connecté au compte : {when}, depuis l’adresse IP {ip}.',
    action: '',
    expiry: '',
    otherwise:
      'Si c’était vous, il n’y a rien à faire. Sinon, quelqu’un d’autre est dans votre compte : prévenez tout de suite les responsables de {tenant}.',
  },
  password_changed: {
    subject: 'Votre mot de passe {application} a été modifié',
    title: 'Votre mot de passe a été modifié',
    lead: 'Le mot de passe de votre compte {application} a été modifié : {when}, depuis l’adresse IP {ip}. Tous les autres appareils et applications ont été déconnectés.',
    action: 'Voir votre compte',
    expiry: '',
    otherwise:
      'Si ce n’était pas vous, quelqu’un d’autre peut se connecter : choisissez un nouveau mot de passe avec « Mot de passe oublié ? » sur la page de connexion et prévenez les responsables de {tenant}.',
  },
  factor_added: {
    subject: 'Nouveau moyen de connexion à votre compte {application}',
    title: 'Un moyen de connexion a été ajouté',
    lead: 'Ajout à votre compte {application} : {factor}. C’était le {when}, depuis l’adresse IP {ip}.',
    action: 'Voir votre compte',
    expiry: '',
    otherwise:
      'Si ce n’était pas vous, supprimez-le de votre compte, changez votre mot de passe et déconnectez tous les autres appareils.',
  },
  factor_removed: {
    subject: 'Un moyen de connexion à votre compte {application} a été supprimé',
    title: 'Un moyen de connexion a été supprimé',
    lead: 'Suppression dans votre compte {application} : {factor}. C’était le {when}, depuis l’adresse IP {ip}.',
    action: 'Voir votre compte',
    expiry: '',
    otherwise:
      'Si ce n’était pas vous, changez votre mot de passe, déconnectez tous les autres appareils et ajoutez-le de nouveau.',
  },
  recovery_codes_changed: {
    subject: 'Nouveaux codes de secours {application}',
    title: 'Nouveaux codes de secours',
    lead: 'De nouveaux codes de secours ont été créés pour votre compte {application} : {when}, depuis l’adresse IP {ip}. Les anciens ne fonctionnent plus.',
    action: 'Voir votre compte',
    expiry: '',
    otherwise:
      'Si ce n’était pas vous, créez-en d’autres à cet endroit, changez votre mot de passe et déconnectez tous les autres appareils.',
  },
  user_invitation: {
    subject: 'Invitation à rejoindre {organization}',
    title: 'Vous êtes invité',
    lead: '{inviter} vous invite à rejoindre {organization} sur {application}.',
    action: 'Accepter l’invitation',
    expiry: 'Ce lien ne peut servir qu’une fois et expire dans {time}.',
    otherwise: 'Si vous ne l’attendiez pas, ignorez ce message.',
  },
  login_link: {
    subject: 'Connectez-vous à {application}',
    title: 'Connectez-vous à {application}',
    lead: 'Ouvrez ce lien dans le navigateur où vous l’avez demandé.',
    action: 'Se connecter',
    expiry: 'Ce lien ne peut servir qu’une fois et expire dans {time}.',
    otherwise: 'Si vous ne l’avez pas demandé, ignorez ce message.',
  },
  auth_email_by_code: {
    subject: 'Votre code {application}',
    title: 'Votre code',
    lead: 'Saisissez-le pour continuer vers {application}.',
    action: '',
    expiry: 'Il expire dans {time}.',
    otherwise: 'Si vous ne l’avez pas demandé, ignorez ce message.',
  },
  codeSentence: 'Votre code {application} est {code}. Il expire dans {time}.',
  factorNames: {
    totp: 'application d’authentification',
    phone: 'numéro de téléphone pour les codes',
    email: 'adresse e-mail pour les codes',
    'webauthn-roaming': 'clé de sécurité',
    'webauthn-platform': 'appareil avec verrouillage d’écran',
    passkey: 'clé d’accès',
  },
  copy: 'Si le bouton ne fonctionne pas, copiez cette adresse dans votre navigateur :',
  support: 'Aide',
};
