/** The languages of the gate's pages. */
export const languages = [
  { value: 'en', text: 'English' },
  { value: 'de', text: 'Deutsch' },
  { value: 'fr', text: 'Français' },
  { value: 'es', text: 'Español' },
  { value: 'pt', text: 'Português' },
  { value: 'ja', text: '日本語' },
];
