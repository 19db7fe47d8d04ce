/** The mails and text messages in German. */
import type { MailStrings } from './en.ts';

export const de: MailStrings = {
  verify_email: {
    subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
    title: 'Bestätigen Sie Ihre Adresse',
    lead: 'Mit {email} wurde ein Konto für {application} angelegt. Bestätigen Sie, dass das Ihre Adresse ist.',
    action: 'Adresse bestätigen',
    expiry: 'Der Link funktioniert einmal und gilt {time}.',
    otherwise: 'Wenn Sie kein Konto angelegt haben, ignorieren Sie diese Nachricht und öffnen Sie den Link nicht.',
  },
  reset_email: {
    subject: 'Ihr Passwort für {application} ändern',
    title: 'Neues Passwort wählen',
    lead: 'Jemand möchte das Passwort Ihres Kontos bei {application} ändern.',
    action: 'Passwort wählen',
    expiry: 'Der Link funktioniert einmal und gilt {time}.',
    otherwise: 'Wenn Sie das nicht waren, ignorieren Sie diese Nachricht: Es hat sich nichts geändert.',
  },
  welcome_email: {
    subject: 'Willkommen bei {application}',
    title: 'Willkommen bei {application}',
    lead: 'Ihr Konto für {email} ist eingerichtet.',
    action: '{application} öffnen',
    expiry: '',
    otherwise: '',
  },
  blocked_account: {
    subject: 'Zu viele fehlgeschlagene Anmeldungen bei {application}',
    title: 'Anmeldungen bei Ihrem Konto wurden angehalten',
    lead: 'Jemand hat viele Male mit falschen Passwörtern oder Codes versucht, sich bei Ihrem Konto bei {application} anzumelden. Wir haben diese Versuche eine Weile angehalten.',
    action: 'Neues Passwort wählen',
    expiry: 'Der Link funktioniert einmal und gilt {time}.',
    otherwise:
      'Wenn Sie das waren, warten Sie ein wenig oder wählen Sie ein neues Passwort. Wenn nicht: Ihr Passwort wurde nicht herausgefunden.',
  },
  stolen_credentials: {
    subject: 'Ihr Passwort bei {application} ist anderen bekannt',
    title: 'Wählen Sie ein neues Passwort',
    lead: 'Das Passwort Ihres Kontos bei {application} ist Teil eines Datenlecks an anderer Stelle; andere könnten es also kennen.',
    action: 'Neues Passwort wählen',
    expiry: 'Der Link funktioniert einmal und gilt {time}.',
    otherwise: 'Ändern Sie es auch überall sonst, wo Sie es verwenden.',
  },
  email_changed: {
    subject: 'Ihre E-Mail-Adresse bei {application} wurde geändert',
    title: 'Ihre E-Mail-Adresse wurde geändert',
    lead: 'Die E-Mail-Adresse Ihres Kontos bei {application} ist nicht mehr {email}. Geändert hat sie jemand, der im Konto angemeldet war: {when}, von der IP-Adresse {ip}.',
    action: '',
    expiry: '',
    otherwise:
      'Wenn Sie das waren, ist nichts zu tun. Wenn nicht, ist jemand anderes in Ihrem Konto: Wenden Sie sich sofort an die Betreiber von {tenant}.',
  },
  password_changed: {
    subject: 'Ihr Passwort bei {application} wurde geändert',
    title: 'Ihr Passwort wurde geändert',
    lead: 'Das Passwort Ihres Kontos bei {application} wurde geändert: {when}, von der IP-Adresse {ip}. Alle anderen Geräte und Anwendungen wurden abgemeldet.',
    action: 'Konto ansehen',
    expiry: '',
    otherwise:
      'Wenn Sie das nicht waren, kann sich jemand anderes anmelden: Wählen Sie auf der Anmeldeseite mit „Passwort vergessen?“ ein neues Passwort und wenden Sie sich an die Betreiber von {tenant}.',
  },
  factor_added: {
    subject: 'Neue Anmeldemöglichkeit für Ihr Konto bei {application}',
    title: 'Eine Anmeldemöglichkeit wurde hinzugefügt',
    lead: 'Zu Ihrem Konto bei {application} wurde hinzugefügt: {factor}. Das war {when}, von der IP-Adresse {ip}.',
    action: 'Konto ansehen',
    expiry: '',
    otherwise:
      'Wenn Sie das nicht waren, entfernen Sie sie aus Ihrem Konto, ändern Sie Ihr Passwort und melden Sie alle anderen Geräte ab.',
  },
  factor_removed: {
    subject: 'Eine Anmeldemöglichkeit Ihres Kontos bei {application} wurde entfernt',
    title: 'Eine Anmeldemöglichkeit wurde entfernt',
    lead: 'Aus Ihrem Konto bei {application} wurde entfernt: {factor}. Das war {when}, von der IP-Adresse {ip}.',
    action: 'Konto ansehen',
    expiry: '',
    otherwise:
      'Wenn Sie das nicht waren, ändern Sie Ihr Passwort, melden Sie alle anderen Geräte ab und fügen Sie sie wieder hinzu.',
  },
  recovery_codes_changed: {
    subject: 'Neue Wiederherstellungscodes für {application}',
    title: 'Neue Wiederherstellungscodes',
    lead: 'Für Ihr Konto bei {application} wurden neue Wiederherstellungscodes erstellt: {when}, von der IP-Adresse {ip}. Die alten gelten nicht mehr.',
    action: 'Konto ansehen',
    expiry: '',
    otherwise:
      'Wenn Sie das nicht waren, erstellen Sie dort neue, ändern Sie Ihr Passwort und melden Sie alle anderen Geräte ab.',
  },
  user_invitation: {
    subject: 'Einladung zu {organization}',
    title: 'Sie sind eingeladen',
    lead: '{inviter} lädt Sie ein, {organization} bei {application} beizutreten.',
    action: 'Einladung annehmen',
    expiry: 'Der Link funktioniert einmal und gilt {time}.',
    otherwise: 'Wenn Sie das nicht erwarten, ignorieren Sie diese Nachricht.',
  },
  login_link: {
    subject: 'Bei {application} anmelden',
    title: 'Bei {application} anmelden',
    lead: 'Öffnen Sie diesen Link in dem Browser, in dem Sie ihn angefordert haben.',
    action: 'Anmelden',
    expiry: 'Der Link funktioniert einmal und gilt {time}.',
    otherwise: 'Wenn Sie ihn nicht angefordert haben, ignorieren Sie diese Nachricht.',
  },
  auth_email_by_code: {
    subject: 'Ihr Code für {application}',
    title: 'Ihr Code',
    lead: 'Geben Sie ihn ein, um mit {application} fortzufahren.',
    action: '',
    expiry: 'Er gilt {time}.',
    otherwise: 'Wenn Sie ihn nicht angefordert haben, ignorieren Sie diese Nachricht.',
  },
  codeSentence: 'Ihr Code für {application} ist {code}. Er gilt {time}.',
  factorNames: {
    totp: 'Authenticator-App',
    phone: 'Telefonnummer für Codes',
    email: 'E-Mail-Adresse für Codes',
    'webauthn-roaming': 'Sicherheitsschlüssel',
    'webauthn-platform': 'Gerät mit Bildschirmsperre',
    passkey: 'Passkey',
  },
  copy: 'Falls die Schaltfläche nicht funktioniert, kopieren Sie diese Adresse in Ihren Browser:',
  support: 'Hilfe',
};
