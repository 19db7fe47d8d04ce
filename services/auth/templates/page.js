// Enhances a page that works without it: passwords can be shown, and a form is sent once.
for (const button of document.querySelectorAll('.gp-reveal button')) {
  const input = button.previousElementSibling;
  const swap = () => {
    input.type = input.type === 'password' ? 'text' : 'password';
    const { other, otherLabel } = button.dataset;
    button.dataset.other = button.textContent;
    button.dataset.otherLabel = button.getAttribute('aria-label');
    button.textContent = other;
    button.setAttribute('aria-label', otherLabel);
  };
  button.hidden = false;
  button.addEventListener('click', swap);
  input.form.addEventListener('submit', () => input.type === 'text' && swap());
}
for (const form of document.forms) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
    // Whoever stopped the page, or came back from an app that it opened, may try again.
    setTimeout(() => delete form.dataset.sent, 5000);
  });
  addEventListener('pageshow', () => delete form.dataset.sent);
}
