/** The mails and text messages in Spanish. */
import type { MailStrings } from './en.ts';

export const es: MailStrings = {
  verify_email: {
    subject: 'Confirma tu correo electrónico',
    title: 'Confirma tu correo electrónico',
    lead: 'Se ha creado una cuenta de {application} con la dirección {email}. Confirma que es tuya.',
    action: 'Confirmar dirección',
    expiry: 'El enlace funciona una sola vez y caduca en {time}.',
    otherwise: 'Si no has creado ninguna cuenta, ignora este mensaje y no abras el enlace.',
  },
  reset_email: {
    subject: 'Cambia tu contraseña de {application}',
    title: 'Elige una nueva contraseña',
    lead: 'Alguien ha pedido cambiar la contraseña de tu cuenta de {application}.',
    action: 'Elegir contraseña',
    expiry: 'El enlace funciona una sola vez y caduca en {time}.',
    otherwise: 'Si no has sido tú, ignora este mensaje: no ha cambiado nada.',
  },
  welcome_email: {
    subject: 'Te damos la bienvenida a {application}',
    title: 'Te damos la bienvenida a {application}',
    lead: 'Tu cuenta con la dirección {email} está lista.',
    action: 'Abrir {application}',
    expiry: '',
    otherwise: '',
  },
  user_invitation: {
    subject: 'Invitación a {organization}',
    title: 'Tienes una invitación',
    lead: '{inviter} te invita a unirte a {organization} en {application}.',
    action: 'Aceptar la invitación',
    expiry: 'El enlace funciona una sola vez y caduca en {time}.',
    otherwise: 'Si no la esperabas, ignora este mensaje.',
  },
  login_link: {
    subject: 'Inicia sesión en {application}',
    title: 'Inicia sesión en {application}',
    lead: 'Abre este enlace en el navegador desde el que lo pediste.',
    action: 'Iniciar sesión',
    expiry: 'El enlace funciona una sola vez y caduca en {time}.',
    otherwise: 'Si no lo has pedido, ignora este mensaje.',
  },
  auth_email_by_code: {
    subject: 'Tu código de {application}',
    title: 'Tu código',
    lead: 'Introdúcelo para continuar en {application}.',
    action: '',
    expiry: 'Caduca en {time}.',
    otherwise: 'Si no lo has pedido, ignora este mensaje.',
  },
  codeSentence: 'Tu código de {application} es {code}. Caduca en {time}.',
  copy: 'Si el botón no funciona, copia esta dirección en tu navegador:',
  support: 'Ayuda',
};
